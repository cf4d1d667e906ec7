import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { DeploymentObject } from '@open-terrain/constructs/operator'
import type { ClaimView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DEPLOYMENT, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { type ContainerPodView, hasPodEnded, type PersistentVolumeView } from '../child-views.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import { type Component, idOf } from './component.ts'

/** A container cluster that exists or is wanted, with its pods. */
export interface GroupMember {
  readonly name: string
  /** The template of its pods. */
  readonly template: DeploymentObject['spec']['template']
  readonly pods: readonly ContainerPodView[]
  readonly avoided: readonly string[]
}

/** Everything that has to be on one node, as far as it is known. */
export interface NodeGroup {
  readonly members: readonly GroupMember[]
  /** Pods on a node that do their work, or are about to. */
  readonly placed: readonly ContainerPodView[]
  /** Pods on a node that have to end. The scheduler still counts them. */
  readonly ending: readonly ContainerPodView[]
  /** Pods that the scheduler is to find a node for. */
  readonly tried: readonly ContainerPodView[]
  /** Nodes of its machines. */
  readonly machines: readonly string[]
  /** Nodes on which the whole group was tried. */
  readonly avoided: readonly string[]
}

export function deploymentOf({ objects }: Component): DeploymentObject | undefined {
  return objects.find(({ kind }) => kind === DEPLOYMENT.kind) as DeploymentObject | undefined
}

export function isLive(pod: ContainerPodView): boolean {
  return !(isTerminating(pod) || hasPodEnded(pod))
}

/** Reports whether a pod may still have its addresses: it has a node, and nobody has said that it has ended. */
export function isHolding(pod: ContainerPodView): boolean {
  return pod.node !== '' && !hasPodEnded(pod)
}

/** What exists counts, also if the spec does not ask for it any more or is not valid. */
function memberFrom(
  world: WorkspaceWorld,
  { metadata, spec }: Pick<DeploymentObject, 'metadata' | 'spec'>,
): GroupMember {
  const { name } = metadata
  const avoided = metadata.annotations?.[ANNOTATIONS.avoidedNodes] ?? ''
  return {
    name,
    template: spec.template,
    pods: world.pods.get(name) ?? [],
    avoided: avoided.split(',').filter((node) => node !== ''),
  }
}

export function memberOf(world: WorkspaceWorld, cluster: string): GroupMember | undefined {
  const actual = world.children.get(idOf(DEPLOYMENT.kind, cluster)) as DeploymentObject | undefined
  return actual && memberFrom(world, actual)
}

/** Returns all clusters that exist, and those that are to be created. */
function membersIn(world: WorkspaceWorld): GroupMember[] {
  const actual = [...world.children.values()].filter(({ kind }) => kind === DEPLOYMENT.kind)
  const names = new Set(actual.map(({ metadata }) => metadata.name))
  const wanted = world.components.flatMap((component) => {
    const deployment = component.held === undefined ? deploymentOf(component) : undefined
    return deployment === undefined || names.has(component.name) ? [] : [deployment]
  })
  return [...(actual as readonly KubeObject[] as readonly DeploymentObject[]), ...wanted].map((one) =>
    memberFrom(world, one),
  )
}

export function groupLabelOf({ template }: Pick<GroupMember, 'template'>): string | undefined {
  return template.metadata.labels[LABELS.nodeGroup]
}

export function nodeGroupOf(world: WorkspaceWorld, label: string): NodeGroup {
  const members = membersIn(world).filter((member) => groupLabelOf(member) === label)
  const pods = members.flatMap((member) => member.pods)
  const live = pods.filter(isLive)
  return {
    members,
    placed: live.filter(({ node }) => node !== ''),
    ending: pods.filter((pod) => isTerminating(pod) && isHolding(pod)),
    tried: live.filter(({ node, gates }) => node === '' && gates.length === 0),
    machines: machinesOf(world, label),
    avoided: [...new Set(members.flatMap(({ avoided }) => avoided))],
  }
}

function machinesOf({ children }: WorkspaceWorld, label: string): string[] {
  return [...children.values()].flatMap((one) => {
    if (one.kind !== 'VirtualMachine') return []
    const { spec, status } = one as MachineFacts
    const isMember = (spec as { readonly nodeGroup?: string } | undefined)?.nodeGroup === label
    const node = status.kubevirt?.nodeName
    return isMember && node !== undefined ? [node] : []
  })
}

interface PodVolumes {
  readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[]
}

function claimsOf({ template }: GroupMember): string[] {
  const { volumes = [] } = template.spec as PodVolumes
  return volumes.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? [])
}

/**
 * Returns how few nodes a cluster can be on, as far as that is known. A volume that others have provided is on the nodes that only the scheduler knows, a port
 * may be taken on some, not all nodes have the labels of a selector, and local volumes are known: all members of the group get their requirements.
 */
export function constraintOf(world: WorkspaceWorld, member: GroupMember): number {
  if (member.avoided.length > 0) return 4
  const claims = claimsOf(member).map(
    (name) => world.children.get(idOf(PERSISTENT_VOLUME_CLAIM.kind, name)) as ClaimView,
  )
  const isOnSome = claims.some((claim) => claim?.phase === 'Bound' && localVolumeOf(world, claim) === undefined)
  if (isOnSome) return 3
  const ports = member.template.spec.containers.flatMap((one) => one.ports ?? [])
  const isSelective = member.template.spec.nodeSelector !== undefined
  if (isSelective || ports.some(({ hostPort }) => hostPort !== undefined)) return 2
  return claims.length > 0 ? 1 : 0
}

function localVolumeOf({ children }: WorkspaceWorld, claim: ClaimView): PersistentVolumeView | undefined {
  const { volumeName = '' } = claim
  return children.get(idOf(PERSISTENT_VOLUME.kind, volumeName)) as PersistentVolumeView | undefined
}

interface VolumeSpec {
  readonly nodeAffinity?: {
    readonly required?: { readonly nodeSelectorTerms?: readonly { readonly matchExpressions?: readonly object[] }[] }
  }
}

/** Returns what the local volumes of a group require of a node, as expressions that must all hold. */
export function volumeRequirements(world: WorkspaceWorld, { members }: NodeGroup): object[] {
  const found = new Map<string, object>()
  for (const name of members.flatMap(claimsOf)) {
    const claim = world.children.get(idOf(PERSISTENT_VOLUME_CLAIM.kind, name)) as ClaimView | undefined
    const volume = claim && localVolumeOf(world, claim)
    const terms = (volume?.spec as VolumeSpec | undefined)?.nodeAffinity?.required?.nodeSelectorTerms ?? []
    // Only one of several terms has to hold.
    if (terms.length !== 1) continue
    for (const one of terms[0]?.matchExpressions ?? []) found.set(JSON.stringify(one), one)
  }
  return [...found.values()]
}
