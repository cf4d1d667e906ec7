import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  copiedUidOf,
  copiedVersionOf,
  type GeneratedWorkspaceSecret,
  generatedSecretRemarks,
  isGeneratedSecret,
  type MemberTitle,
  renderGeneratedSecret,
  renderSecretCopy,
  type WorkspaceSecret,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { firstFew } from '../../../../base/messages.ts'
import { isTerminating, type KubeObject } from '../../../../kube/kube-object.ts'
import { SECRET } from '../../../../kube/resource-types.ts'
import { childId } from '../../../../runtime/child-refusals.ts'
import type { WorkspaceWorld } from '../../world.ts'
import { markOf } from '../as-wanted.ts'
import {
  type Blueprint,
  type Component,
  type ComponentSummary,
  componentReady,
  componentWaiting,
  hadData,
  idOf,
  withWarnings,
} from '../component.ts'
import type { ComponentKind, Judgement } from '../component-kind.ts'
import { keysLostOf } from '../generated-keys.ts'
import { isCopied, isSecretNamed, PLAYER, secretNamesOf, secretsAskedIn } from '../missing-secrets.ts'
import { isCopyKept, type SecretSource } from '../secret-sources.ts'

const KIND = 'Secret'
const AFTERMATH =
  'What was started with the old values keeps them: containers until they are restarted, guests until they get a new disk (RebuildRequired), and data such as the users of a database'
/** Keys, or members, that a message names. More are only counted. */
const SHOWN_MAX = 4

/** Secrets whose values the operator makes, or copies. A plan has none of the values: they are made, or read, when a Secret is written. */
export const SECRET_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: SECRET, propagationPolicy: 'Background' }],
  children: (blueprint) =>
    (blueprint.spec.secrets ?? []).map(
      (secret): Component => ({
        kind: KIND,
        name: secret.name,
        objects: objectsOf(blueprint, secret),
        needs: [],
        ...withWarnings(warningsOn(blueprint, secret)),
      }),
    ),
  summary: (world, component) => {
    const { name, objects } = component
    const [wanted] = objects
    const { workspace, spec, secretKeys, children, secretSources } = world
    if (wanted === undefined || secretSources.has(name)) return summaryOfCopy(world, component)
    const told = workspace.status.components?.find((one) => one.kind === KIND && one.name === name)
    const lostWith = (text: string) => ({
      summary: componentWaiting('SecretLost', lossText(world, wanted, text, told?.message)),
      isThere: false,
    })
    // Only one that was read is known to have all its values again.
    if (secretKeys.get(name) === undefined && told?.reason === 'SecretLost')
      return lostWith(told.message?.split(';', 1)[0] ?? '')
    const secret = spec.ok ? spec.spec.secrets?.filter(isGeneratedSecret).find((one) => one.name === name) : undefined
    const keys = (secret?.generate ?? []).map(({ key }) => key)
    const lost = secret === undefined ? [] : keysLostOf(world, secret)
    const { uid, resourceVersion } = children.get(idOf(KIND, name))?.metadata ?? {}
    if (lost.length === 0)
      return { summary: componentReady(`Secret ${name} has its random values: ${firstFew(keys, SHOWN_MAX)}`) }
    // Only what lacks these keys is given other values: people may put the old ones there at the same time.
    const apply = [{ ...wanted, metadata: { ...wanted.metadata, uid, resourceVersion } }]
    const what = `Secret ${name} has no value for ${firstFew(lost, SHOWN_MAX)} any more: another one is made`
    return { ...lostWith(`${what}. ${AFTERMATH}`), apply }
  },
  loss,
  hasData: (world, { name }) => !isCopy(world, name) && (world.children.has(idOf(KIND, name)) || undefined),
  // It is not made any more, but its values are nowhere else. Those of a copy are.
  isNeeded: ({ spec, secretSources }, { kind, metadata: { name, annotations = {} } }) => {
    const found = secretSources.get(name)
    const isReplaced = found !== undefined && 'source' in found
    const isMade = kind === SECRET.kind && annotations[ANNOTATIONS.generatedKeys] !== undefined
    const isNamed = isMade && !isReplaced && spec.ok && isSecretNamed(spec.spec, name)
    return isNamed || (kind === SECRET.kind && isCopyKept(found))
  },
}

function isCopy({ spec }: WorkspaceWorld, name: string): boolean {
  return spec.ok && isCopied(spec.spec, name)
}

/** Nothing is asked for that cannot be copied, so a copy that is there goes, as does what was made of something else. */
function objectsOf({ workspace, secretSources, secretsToReplace }: Blueprint, secret: WorkspaceSecret): KubeObject[] {
  const { name } = secret
  if (secretsToReplace?.has(name) === true) return []
  if (isGeneratedSecret(secret)) return [renderGeneratedSecret({ workspace, secret })]
  const found = secretSources?.get(name)
  return found !== undefined && 'source' in found ? [renderSecretCopy({ workspace, name, source: found.source })] : []
}

/** Judges a Secret that is a copy, and one that is to be made in place of another one. */
function summaryOfCopy(world: WorkspaceWorld, component: Component): Judgement {
  const { secretSources, copiesToMend, children } = world
  const {
    name,
    objects: [wanted],
  } = component
  const found = secretSources.get(name)
  const child = children.get(idOf(KIND, name))
  if (found !== undefined && !('source' in found)) return summaryOfUnwritten(world, name, found)
  if (wanted === undefined) {
    const text = `Secret ${name} was made of something else, or cannot be changed: it is deleted, and then made as the spec says`
    return { summary: componentWaiting('Provisioning', text), isThere: false }
  }
  const { namespace, name: source } = found?.source ?? {}
  const title = `Secret ${name}`
  const isAltered = child !== undefined && isAlteredCopy(child, wanted)
  if (!(isAltered || copiesToMend.has(name)))
    return { summary: componentReady(copyText(name, `${namespace}/${source}`)) }
  const what = isAltered ? 'was changed by somebody, and may have' : 'has'
  const text = `${title} ${what} other values than Secret ${namespace}/${source}, of which it is a copy: they are written again`
  const { uid, resourceVersion } = child?.metadata ?? {}
  const apply = [{ ...wanted, metadata: { ...wanted.metadata, uid, resourceVersion } }]
  return { summary: componentWaiting('Provisioning', text), apply }
}

/** Reports whether somebody has changed what a copy says that it is a copy of. What has another mark is written in any case. */
function isAlteredCopy(copy: KubeObject, wanted: KubeObject): boolean {
  const [is, asked] = [copy.metadata.annotations, wanted.metadata.annotations]
  return (
    markOf(copy) === markOf(wanted) &&
    [ANNOTATIONS.copiedFrom, ANNOTATIONS.copiedVersion].some((one) => is?.[one] !== asked?.[one])
  )
}

function copyText(name: string, source: string): string {
  return `Secret ${name} is a copy of Secret ${source}`
}

type Unwritten = Exclude<SecretSource, { readonly source: unknown }>

/** Judges a Secret that is to be a copy and that cannot be written, or not yet. */
function summaryOfUnwritten(world: WorkspaceWorld, name: string, found: Unwritten): Judgement {
  const child = world.children.get(idOf(KIND, name))
  const copy = child !== undefined && copiedUidOf(child.metadata.annotations) !== undefined ? child : undefined
  const isThere = isCopyKept(found) && copy !== undefined && !isTerminating(copy)
  const summary = 'pending' in found ? pendingSummary(world, name, found, copy) : refusedSummary(name, found, copy)
  return { summary, isThere }
}

function refusedSummary(
  name: string,
  { obstacle, isKept }: Extract<Unwritten, { obstacle: string }>,
  copy: KubeObject | undefined,
): ComponentSummary {
  const text = `Secret ${name} cannot be made: ${obstacle}`
  if (copy === undefined) return componentWaiting('SecretNotShared', text)
  return componentWaiting(
    'SecretNotShared',
    isKept === true
      ? `Secret ${name} is not written any more: ${obstacle}; the copy that is there stays as it is`
      : `${text}; the copy that is there is deleted`,
  )
}

function pendingSummary(
  { workspace }: WorkspaceWorld,
  name: string,
  { pending, seen }: Extract<Unwritten, { pending: string }>,
  copy: KubeObject | undefined,
): ComponentSummary {
  const { [ANNOTATIONS.copiedFrom]: from, [ANNOTATIONS.copiedVersion]: version } = copy?.metadata.annotations ?? {}
  const source = `${seen.namespace}/${seen.name}`
  if (from === source && version === copiedVersionOf(seen)) return componentReady(copyText(name, source))
  // What was told of it is told until more is known.
  const told = workspace.status.components?.find((one) => one.kind === KIND && one.name === name)
  if (told?.reason === 'SecretNotShared') return componentWaiting('SecretNotShared', told.message ?? '')
  return componentWaiting('Provisioning', `Secret ${name} waits: ${pending}`)
}

/**
 * Returns what to say of a loss. What was told behind it, why it is not mended, stays until it is tried again: that is for each version of the Secret, and
 * is not known in between. If it is known, it is said behind that anyway.
 */
function lossText({ refusals }: WorkspaceWorld, wanted: KubeObject | undefined, text: string, told = ''): string {
  const isRefused = wanted !== undefined && refusals.has(childId(wanted))
  return !isRefused && told.startsWith(text) ? told : text
}

/** Returns which of the Secrets that the operator makes a member needs. @param member `idOf` the component */
export function secretIds(spec: WorkspaceSpec, member: string): string[] {
  const { secrets = [] } = spec
  if (secrets.length === 0) return []
  const names = new Set(secretNamesOf(spec, member))
  return secrets.flatMap(({ name }) => (names.has(name) ? [idOf(KIND, name)] : []))
}

function warningsOn({ spec, secretSources }: Blueprint, secret: WorkspaceSecret): string[] {
  if (isGeneratedSecret(secret)) return warningsOnGenerated(spec, secret)
  const found = secretSources?.get(secret.name)
  const type = found !== undefined && 'source' in found ? found.source.type : undefined
  if (type === undefined || LOGINS.has(type)) return []
  const asked = secretsAskedIn(spec).get(secret.name) ?? []
  const members = [...new Set(asked.filter(({ key }) => key === undefined).map(({ by }) => by))]
  if (members.length === 0) return []
  return [
    `it is of type ${type} and no login to a registry, and ${firstFew(members, SHOWN_MAX)} names it in pullSecrets: copy one of type kubernetes.io/dockerconfigjson`,
  ]
}

/** Types of Secrets that images can be pulled with. */
const LOGINS: ReadonlySet<string> = new Set(['kubernetes.io/dockerconfigjson', 'kubernetes.io/dockercfg'])

/** What it has besides is of people: they may have put there what is asked of it. */
function warningsOnGenerated(spec: WorkspaceSpec, secret: GeneratedWorkspaceSecret): string[] {
  const { name, generate } = secret
  const made = new Set(generate.map(({ key }) => key))
  const asked = (secretsAskedIn(spec).get(name) ?? []).filter(({ key }) => key !== undefined && !made.has(key))
  const lacking = [...Map.groupBy(asked, ({ key }) => key)].map(([key, by]) => {
    const members = firstFew([...new Set(by.map((one) => one.by))], SHOWN_MAX)
    return `its key ${key} is not made, and ${members} needs it: add it to generate of the Secret, or name one that is there`
  })
  return [...lacking, ...generatedSecretRemarks(spec, secret, titleOf).map(({ message }) => message)]
}

const titleOf: MemberTitle = (member) => {
  if (member === 'player') return PLAYER
  return idOf('containers' in member ? 'ContainerCluster' : 'VirtualMachine', member.name)
}

/** Says that values are gone, or about to be. They are nowhere else: the operator does not know them. */
function loss(world: WorkspaceWorld, component: Component): ComponentSummary | undefined {
  const { name } = component
  if (isCopy(world, name)) return undefined
  const { children, workspace } = world
  const secret = children.get(idOf(KIND, name))
  const isGoing = secret !== undefined && isTerminating(secret)
  if (!(isGoing || hadData(workspace, component))) return undefined
  const what = isGoing ? 'is being deleted' : 'is gone'
  return componentWaiting(
    'SecretLost',
    `Secret ${name} ${what}, and with it its values: it is made again with other ones. ${AFTERMATH}`,
  )
}
