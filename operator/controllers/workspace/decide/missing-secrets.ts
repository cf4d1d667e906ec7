import {
  containersOf,
  hasPlays,
  isCopiedSecret,
  memoized,
  type WorkspaceContainerCluster,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs/operator'
import {
  type AskedKey,
  type AwaitedSecret,
  createCommand,
  type SecretChange,
  secretRemedy,
} from '../../../cluster/secret-remedies.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { CONFIG_MAP } from '../../../kube/resource-types.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import { type Component, type ComponentSummary, componentWaiting, idOf } from './component.ts'

/** Something that a member of a workspace needs of a Secret, or of a ConfigMap, in its namespace. */
interface MemberKey extends AskedKey {
  /** @default Secret */
  readonly kind?: 'ConfigMap'
  /** `idOf` the component. */
  readonly by: string
}

type AskedByName = ReadonlyMap<string, readonly MemberKey[]>

const MACHINE = 'VirtualMachine'
const CLUSTER = 'ContainerCluster'
/** What plays the roles of the machines. A spec has it once. */
export const PLAYER = 'Ansible'
/** Characters of what the status of a workspace says of missing Secrets and ConfigMaps. The rest of its message comes after it. */
const WORKSPACE_REMEDY_MAX = 3_000
/** The same for a component, whose message is shorter. */
const COMPONENT_REMEDY_MAX = 900

/** Returns everything that the members of a workspace need of Secrets and ConfigMaps, by the name of the object. */
const askedIn = memoized(({ vms = [], containerClusters = [], ansible }: WorkspaceSpec) => {
  const members = [...vms, ...containerClusters].filter(({ ignoreOnDeploy }) => ignoreOnDeploy !== true)
  const asked = members.flatMap((one) => ('containers' in one ? askedByCluster(one) : askedByMachine(one)))
  if (hasPlays({ vms })) asked.push(...askedByPlayer(ansible))
  const byName = (of: MemberKey['kind']): AskedByName =>
    Map.groupBy(
      asked.filter(({ kind }) => kind === of),
      ({ name }) => name,
    )
  return { secrets: byName(undefined), configMaps: byName('ConfigMap') }
})

/** Returns everything that the members of a workspace need of Secrets, by the name of the Secret. */
export function secretsAskedIn(spec: WorkspaceSpec): AskedByName {
  return askedIn(spec).secrets
}

function askedByPlayer({
  sshKeySecretRef: key,
  pullSecrets = [],
}: NonNullable<WorkspaceSpec['ansible']> = {}): MemberKey[] {
  const by = PLAYER
  const pulls = pullSecrets.map((name): MemberKey => ({ name, by }))
  return key === undefined ? pulls : [{ ...key, placeholder: 'FILE', by }, ...pulls]
}

/** Returns how a component is called as one that needs Secrets. */
export function secretMemberOf({ kind, name }: Pick<Component, 'kind' | 'name'>): string {
  return kind === PLAYER ? PLAYER : idOf(kind, name)
}

function askedByMachine({ name: vm, users = [], userDataSecretRef: userData }: WorkspaceVm): MemberKey[] {
  const by = idOf(MACHINE, vm)
  const passwords = users.flatMap(({ passwordSecretRef: ref }): MemberKey[] =>
    ref === undefined ? [] : [{ ...ref, placeholder: 'PASSWORD', by }],
  )
  return [...passwords, ...(userData === undefined ? [] : [{ ...userData, placeholder: 'FILE', by } as const])]
}

function askedByCluster(one: WorkspaceContainerCluster): MemberKey[] {
  const { name: cluster, pullSecrets = [] } = one
  const by = idOf(CLUSTER, cluster)
  const whole = (ref: WholeRefs, all: 'variables' | 'files'): MemberKey[] => [
    ...(ref.secretRef === undefined ? [] : [{ name: ref.secretRef.name, all, by }]),
    ...(ref.configMapRef === undefined ? [] : [{ kind: 'ConfigMap' as const, name: ref.configMapRef.name, all, by }]),
  ]
  const containers = containersOf(one)
  const sources = containers.flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom ?? []))
  const files = containers.flatMap(({ files: all = [] }) => all)
  const keyOf = (ref: { readonly name: string; readonly key: string } | undefined, more: Partial<MemberKey>) =>
    ref === undefined ? [] : [{ ...ref, ...more, by }]
  return [
    ...pullSecrets.map((name) => ({ name, by })),
    ...sources.flatMap(({ secretKeyRef }) => keyOf(secretKeyRef, { placeholder: 'VALUE' })),
    ...sources.flatMap(({ configMapKeyRef }) => keyOf(configMapKeyRef, { kind: 'ConfigMap', placeholder: 'VALUE' })),
    ...files.flatMap(({ secretKeyRef }) => keyOf(secretKeyRef, { placeholder: 'FILE' })),
    ...containers.flatMap(({ envFrom = [] }) => envFrom.flatMap((ref) => whole(ref, 'variables'))),
    ...files.flatMap((ref) => whole(ref, 'files')),
  ]
}

/** What names an object of which all keys are needed. */
interface WholeRefs {
  readonly secretRef?: { readonly name: string } | undefined
  readonly configMapRef?: { readonly name: string } | undefined
}

/** Reports whether a member names a Secret. One with `ignoreOnDeploy` counts, too: what it was deployed with before is left as it is. */
export function isSecretNamed({ vms = [], containerClusters = [], ansible }: WorkspaceSpec, secret: string): boolean {
  const asked = [
    ...askedByPlayer(ansible),
    ...vms.flatMap(askedByMachine),
    ...containerClusters.flatMap(askedByCluster),
  ]
  return (
    asked.some(({ kind, name }) => kind === undefined && name === secret) ||
    vms.some(({ sysprepSecretRef: ref }) => ref?.name === secret)
  )
}

/** Returns the names of all Secrets that members of a workspace name. */
export function secretNamesIn(spec: WorkspaceSpec): string[] {
  return [...secretsAskedIn(spec).keys()]
}

/** Returns the names of all ConfigMaps that members of a workspace name. */
export function configMapNamesIn(spec: WorkspaceSpec): string[] {
  return [...askedIn(spec).configMaps.keys()]
}

/** Returns the names of the Secrets that a member needs. @param member `idOf` the component */
export function secretNamesOf(spec: WorkspaceSpec, member: string): string[] {
  return [...secretsAskedIn(spec)].flatMap(([name, asked]) => (asked.some(({ by }) => by === member) ? [name] : []))
}

/** Reports whether the operator makes a Secret: nobody has to. */
function isMade({ secrets = [] }: WorkspaceSpec, name: string): boolean {
  return secrets.some((one) => one.name === name)
}

/** Reports whether a Secret is to be a copy. */
export function isCopied({ secrets = [] }: WorkspaceSpec, name: string): boolean {
  return secrets.some((one) => one.name === name && isCopiedSecret(one))
}

/**
 * Returns the Secrets and ConfigMaps that are missing or incomplete and that one of these members needs.
 * @param members `idOf` the components
 */
function awaitedBy(world: WorkspaceWorld, members: ReadonlySet<string>): AwaitedSecret[] {
  return [...secretsAwaitedBy(world, members), ...configMapsAwaitedBy(world, members)]
}

/** Those that the operator makes nobody has to. */
function configMapsAwaitedBy(
  { spec, configMaps, components }: WorkspaceWorld,
  members: ReadonlySet<string>,
): AwaitedSecret[] {
  if (!spec.ok) return []
  return [...askedIn(spec.spec).configMaps].flatMap(([name, asked]) => {
    const own = asked.filter(({ by }) => members.has(by))
    if (own.length === 0 || configMaps.has(name)) return []
    const isOurs = components.some(({ objects }) =>
      objects.some(({ kind, metadata }) => kind === CONFIG_MAP.kind && metadata.name === name),
    )
    return isOurs ? [] : [{ kind: 'ConfigMap', name, asked, by: [...new Set(own.map(({ by }) => by))] }]
  })
}

function secretsAwaitedBy(world: WorkspaceWorld, members: ReadonlySet<string>): AwaitedSecret[] {
  const { spec, secrets } = world
  if (!spec.ok) return []
  const lacking = lackingIn(world, members)
  return [...secretsAskedIn(spec.spec)].flatMap(([name, asked]) => {
    const lacks = secrets.has(name) ? (lacking.get(name) ?? []) : undefined
    // What lacks in a copy is told of its source.
    if (lacks === undefined ? isMade(spec.spec, name) : lacks.length === 0 || isCopied(spec.spec, name)) return []
    const own = asked.filter(({ by }) => members.has(by))
    const needs = lacks === undefined ? own.map(({ by }) => by) : lacks.map(({ by }) => by)
    if (needs.length === 0) return []
    const keys = lacks && [...new Set(lacks.map(({ key }) => key))]
    return [{ name, asked, by: [...new Set(needs)], ...(keys !== undefined && { lacks: keys }) }]
  })
}

/** Returns the keys without a password or user data, by the name of the Secret, as the machines tell. Containers tell nothing of theirs before they are started. */
function lackingIn({ children }: WorkspaceWorld, members: ReadonlySet<string>) {
  const lacking = [...members].flatMap((by) => {
    const { metadata, status } = (children.get(by) ?? {}) as Partial<MachineFacts>
    const isObserved = (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0)
    return isObserved ? (status?.missingSecretKeys ?? []).map((one) => ({ ...one, by })) : []
  })
  return Map.groupBy(lacking, ({ name }) => name)
}

/** The owners of a workspace may create and delete Secrets in it, and not change them. */
function changeIn({ spec }: WorkspaceWorld): SecretChange {
  return spec.ok && (spec.spec.owners ?? []).length > 0 ? 'recreate' : 'patch'
}

/** Returns a summary whose message is the command that creates, or completes, the Secrets and ConfigMaps which a member waits for. @param member `idOf` the component */
export function missingSecrets(world: WorkspaceWorld, member: string): ComponentSummary | undefined {
  const awaited = awaitedBy(world, new Set([member])).map((one) => ({ ...one, by: [] }))
  const [first] = awaited
  if (first === undefined) return waitingForOurs(world, member) ?? lackingInCopy(world, member)
  const namespace = world.workspace.metadata.name
  const why = awaited.every(({ kind }) => kind === 'ConfigMap') ? 'ConfigMapMissing' : 'SecretMissing'
  if (awaited.length === 1 && first.lacks === undefined) return componentWaiting(why, createCommand(namespace, first))
  const text = secretRemedy(awaited, { namespace, max: COMPONENT_REMEDY_MAX, change: changeIn(world) })
  // Only a machine knows what keys a Secret has.
  const isOfMachine = awaited.every(({ lacks }) => lacks !== undefined)
  const { status } = (world.children.get(member) ?? {}) as Partial<MachineFacts>
  return { ...componentWaiting(why, text), ...(isOfMachine && { reason: status?.reason }) }
}

/** The Secrets that the operator makes say themselves why they are not there. */
function waitingForOurs({ spec, secrets }: WorkspaceWorld, member: string): ComponentSummary | undefined {
  const names = spec.ok ? secretNamesOf(spec.spec, member) : []
  const name = names.find((one) => !secrets.has(one))
  return name === undefined
    ? undefined
    : componentWaiting('Provisioning', `waits for Secret ${name}, which the operator makes`)
}

/** Only its source can get a key: whoever adds one to a copy has it taken away. */
function lackingInCopy(world: WorkspaceWorld, member: string): ComponentSummary | undefined {
  const copies = world.spec.ok ? (world.spec.spec.secrets ?? []).filter(isCopiedSecret) : []
  const lacking = lackingIn(world, new Set([member]))
  const copy = copies.find(({ name }) => lacking.has(name))
  if (copy === undefined) return undefined
  const { name, from } = copy
  const keys = [...new Set((lacking.get(name) ?? []).map(({ key }) => key))]
  const { status } = (world.children.get(member) ?? {}) as Partial<MachineFacts>
  const text = `Secret ${name} has nothing that can be used in ${keys.join(', ')}: it is a copy of Secret ${from.namespace}/${from.name}, whose owner can put it there`
  return { ...componentWaiting('SecretMissing', text), reason: status?.reason ?? 'SecretMissing' }
}

/** What a workspace says of all Secrets and ConfigMaps that are missing or incomplete. */
export interface WorkspaceSecrets {
  readonly message: string
  /** `idOf` the components that wait for one, or will. */
  readonly members: ReadonlySet<string>
  /** The only one that waits for the only Secret, and says so itself. */
  readonly only?: string | undefined
}

/**
 * Returns what to say of the Secrets and ConfigMaps that members need which are not Ready, also of those that wait for something else first. Nothing can be created
 * before the namespace exists.
 */
export function missingSecretsOf(world: WorkspaceWorld, pending: ReadonlySet<string>): WorkspaceSecrets | undefined {
  const namespace = world.workspace.metadata.name
  const home = world.children.get(idOf('Namespace', namespace))
  if (home === undefined || isTerminating(home)) return undefined
  const awaited = awaitedBy(world, pending)
  if (awaited.length === 0) return undefined
  const members = new Set(awaited.flatMap(({ by }) => by))
  const message = secretRemedy(awaited, { namespace, max: WORKSPACE_REMEDY_MAX, change: changeIn(world) })
  return { message, members, only: awaited.length === 1 && members.size === 1 ? [...members][0] : undefined }
}
