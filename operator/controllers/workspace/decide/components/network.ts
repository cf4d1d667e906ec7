import {
  cidrsOf,
  type InterfaceWords,
  isClusterNetworkName,
  isOnPodNetwork,
  isOverlapping,
  type LinkNames,
  linkNames,
  linkNamesOfBefore,
  misplacedAddress,
  misplacedHop,
  NETWORKS_ANNOTATION,
  type NetworksOfBefore,
  networkWarnings,
  type Policy,
  renderWorkspaceNetwork,
  staticAddresses,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../../kube/kube-object.ts'
import { NETWORK_ATTACHMENT_DEFINITION } from '../../../../kube/resource-types.ts'
import type { WorkspaceWorld } from '../../world.ts'
import { marked, markOf } from '../as-wanted.ts'
import {
  type Blueprint,
  type Component,
  type ComponentSummary,
  componentFailed,
  componentReady,
  idOf,
  idOfObject,
  withWarnings,
} from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'

const KIND = 'Network'

/** The networks, as Multus reads them. Nothing shows whether a plug-in can create one, except the pods that use it. */
export const NETWORK_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: NETWORK_ATTACHMENT_DEFINITION, propagationPolicy: 'Background' }],
  children: ({ workspace, spec, policy, networksOfBefore }) =>
    (spec.networks ?? []).map(
      (network): Component => ({
        kind: KIND,
        name: network.name,
        objects: renderWorkspaceNetwork({ workspace, spec, network, driver: policy.networkDriver, networksOfBefore }),
        needs: [],
        ...withWarnings(networkWarnings({ spec, network })),
      }),
    ),
  isNeeded: isUsed,
  obstacle: (world, { name }) => {
    const taken = takenBy(world, name)
    if (taken !== undefined) return componentFailed('NetworkNameTaken', `${taken}: delete that one`)
    const hop = misplacedHopOf(world, name)
    if (hop !== undefined) return componentFailed('AddressOutsideNetwork', hop)
    const overlap = overlapOf(world, name)
    return overlap === undefined
      ? undefined
      : componentFailed('ClusterCidrOverlap', `${overlap.is}: take another ${overlap.instead}`)
  },
  summary: (world, { name }) => {
    const attach = attachmentOf(world, name)
    if (attach !== undefined) return { summary: summaryOfAttachment(world.policy, name, attach) }
    const ready = `network ${name} can be used`
    const taken = takenBy(world, name)
    if (taken !== undefined) return { summary: componentReady(`${ready}, but ${taken}`, 'NetworkNameTaken') }
    const hop = misplacedHopOf(world, name)
    if (hop !== undefined) return { summary: componentReady(`${ready}, but ${hop}`, 'AddressOutsideNetwork') }
    const overlap = overlapOf(world, name)
    if (overlap === undefined) return { summary: componentReady(ready) }
    return { summary: componentReady(`${ready}, but ${overlap.is}`, 'ClusterCidrOverlap') }
  },
}

function attachmentOf({ spec }: Pick<WorkspaceWorld, 'spec'>, network: string): string | undefined {
  return spec.ok ? spec.spec.networks?.find(({ name }) => name === network)?.attach : undefined
}

function summaryOfAttachment(policy: Policy, name: string, attach: string): ComponentSummary {
  return policy.attachableNetworks.includes(attach)
    ? componentReady(
        `network ${name} is NetworkAttachmentDefinition ${attach}: what else is attached to it, and its node, may reach its members`,
      )
    : componentFailed('NetworkNotAllowed', notAllowed(name, attach))
}

function notAllowed(name: string, attach: string): string {
  return `network ${name} is to be NetworkAttachmentDefinition ${attach}, which the policy key attachableNetworks does not list: remove attach, or have the policy allow it`
}

/** Returns why a member is not created on its networks; undefined if its addresses are in them, and the policy allows all of them. */
export function refusedNetworks(
  { spec: { networks = [] }, policy }: Pick<Blueprint, 'spec' | 'policy'>,
  interfaces: readonly InterfaceWords[] = [],
): ComponentSummary | undefined {
  for (const { name, attach } of networks) {
    const isUsedBy = interfaces.some(({ network }) => network === name)
    if (attach === undefined || !isUsedBy || policy.attachableNetworks.includes(attach)) continue
    return componentFailed('NetworkNotAllowed', notAllowed(name, attach))
  }
  const misplaced = misplacedAddress(networks, interfaces)
  return misplaced === undefined ? undefined : componentFailed('AddressOutsideNetwork', misplaced)
}

function misplacedHopOf({ spec }: WorkspaceWorld, network: string): string | undefined {
  const own = spec.ok ? spec.spec.networks?.find(({ name }) => name === network) : undefined
  return own && misplacedHop(own)
}

/** Returns which other network of the cluster has the name of a network, as a sentence without its end. */
function takenBy({ namesTaken }: WorkspaceWorld, name: string): string | undefined {
  const other = namesTaken.get(name)
  return (
    other &&
    `NetworkAttachmentDefinition ${other} has the bridge or the name of network ${name}, so its pods are on this network`
  )
}

/**
 * Returns the networks that exist with the names of earlier versions. Members that run are on the bridge of that name, so a network keeps it as long as
 * one of its NetworkAttachmentDefinitions exists. One that somebody has edited is known by its mark, unless the spec has changed too.
 */
export function networksOfBefore(
  { workspace, spec, policy }: Blueprint,
  children: ReadonlyMap<string, KubeObject>,
): NetworksOfBefore {
  const definitions = [...children.values()].filter(({ kind }) => kind === NETWORK_ATTACHMENT_DEFINITION.kind)
  if (definitions.length === 0) return NONE
  const configs = definitions.map(configOf).join()
  const isNamed = ({ cni }: LinkNames) => configs.includes(`"name":"${cni}"`)
  const before = (spec.networks ?? []).filter((network) => {
    if (isNamed(linkNamesOfBefore(workspace, network.name))) return true
    if (isNamed(linkNames(workspace, network.name))) return false
    const ofBefore = new Set([network.name])
    const rendered = { workspace, spec, network, driver: policy.networkDriver, networksOfBefore: ofBefore }
    return renderWorkspaceNetwork(rendered).some((one) => {
      const existing = children.get(idOfObject(one))
      return existing !== undefined && markOf(existing) === markOf(marked(one))
    })
  })
  return new Set(before.map(({ name }) => name))
}

/** Returns the names that a network of a workspace has on nodes. */
export function linkNamesIn({ workspace, networksOfBefore: before = NONE }: Blueprint, network: string): LinkNames {
  return before.has(network) ? linkNamesOfBefore(workspace, network) : linkNames(workspace, network)
}

const NONE: NetworksOfBefore = new Set()

function configOf(definition: KubeObject): string {
  const { spec } = definition as KubeObject & { readonly spec?: { readonly config?: unknown } }
  return typeof spec?.config === 'string' ? spec.config : ''
}

interface Overlap {
  /** Which range of the cluster a network overlaps, as a sentence without its end. */
  readonly is: string
  /** What to change. */
  readonly instead: 'cidr' | 'address'
}

function overlapOf({ spec, ranges }: WorkspaceWorld, name: string): Overlap | undefined {
  if (!spec.ok || ranges.length === 0) return undefined
  const cidrs = cidrsOf(spec.spec.networks?.find((one) => one.name === name) ?? {})
  const own = cidrs.length === 0 ? addressesOn(spec.spec, name) : cidrs
  const instead = cidrs.length === 0 ? 'address' : 'cidr'
  for (const one of own) {
    const range = ranges.find((each) => isOverlapping(each.cidr, one))
    if (range === undefined) continue
    return { instead, is: `${instead} ${one} of network ${name} overlaps ${range.cidr}, ${range.what}` }
  }
  return undefined
}

/** Returns the static addresses of all members on a network in CIDR notation. */
function addressesOn({ vms = [], containerClusters = [] }: WorkspaceSpec, name: string): string[] {
  return [...vms, ...containerClusters]
    .flatMap(({ interfaces = [] }): readonly InterfaceWords[] => interfaces)
    .filter(({ network }) => network === name)
    .flatMap(staticAddresses)
}

/**
 * Returns why a member that exists must not move to its new addresses: they are in a network that overlaps a range of the cluster, and it has none there
 * yet.
 * @param has the object that it consists of
 */
export function refusedMove(
  world: WorkspaceWorld,
  interfaces: readonly InterfaceWords[] = [],
  has: KubeObject | undefined,
): string | undefined {
  if (has === undefined || world.ranges.length === 0) return undefined
  const present = addressesOf(has)
  const moved = interfaces.filter((nic) =>
    staticAddresses(nic).some((address) => !present.some((one) => isOverlapping(one, address))),
  )
  const overlap = moved.map(({ network }) => overlapOf(world, network)).find((one) => one !== undefined)
  return overlap && `it stays on its addresses, because ${overlap.is}`
}

/** Returns the addresses of a workload or a machine in CIDR notation. */
function addressesOf(object: KubeObject): readonly string[] {
  const { spec } = object as KubeObject & {
    readonly spec?: { readonly interfaces?: readonly InterfaceWords[] }
  }
  const ofMachine = spec?.interfaces?.flatMap(staticAddresses) ?? []
  return [...ofMachine, ...[...networksOf(object).matchAll(/"([0-9a-fA-F.:]+\/[0-9]+)"/g)].map(([, ip = '']) => ip)]
}

/** Reports whether pods of a Deployment still name a network that is for them alone. A pod that is created again needs it, also where a change is refused. */
function isUsed({ children }: WorkspaceWorld, { kind, metadata }: KubeObject): boolean {
  if (kind !== NETWORK_ATTACHMENT_DEFINITION.kind || !isClusterNetworkName(metadata.name)) return false
  const named = JSON.stringify({ name: metadata.name }).slice(1, -1)
  return [...children.values()].some((one) => networksOf(one).includes(named))
}

/** Returns the text by which Multus is asked for the networks of the pods of a workload, or nothing for other objects. */
function networksOf(object: KubeObject): string {
  const { spec } = object as KubeObject & { readonly spec?: WorkloadSpec }
  return spec?.template?.metadata?.annotations?.[NETWORKS_ANNOTATION] ?? ''
}

interface WorkloadSpec {
  readonly template?: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } }
}

/** Returns the ids of the networks of the workspace that these interfaces are on. */
export function networkIds(interfaces: readonly InterfaceWords[] = []): string[] {
  return interfaces.filter((nic) => !isOnPodNetwork(nic)).map(({ network }) => idOf(KIND, network))
}
