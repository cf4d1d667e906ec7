import {
  GENERATED_LENGTH,
  renderGeneratedSecret,
  WINDOWS_PASSWORD_MAX,
  type WorkspaceSecret,
  type WorkspaceSpec,
} from '@open-terrain/constructs'
import { isTerminating, type KubeObject } from '../../../../kube/kube-object.ts'
import { SECRET } from '../../../../kube/resource-types.ts'
import { childId } from '../../../../runtime/child-refusals.ts'
import { firstFew } from '../../../../runtime/first-few.ts'
import type { WorkspaceWorld } from '../../world.ts'
import {
  type Component,
  type ComponentStanding,
  componentReady,
  componentWaiting,
  hadData,
  idOf,
  withWarnings,
} from '../component.ts'
import type { ComponentKind } from '../component-kind.ts'
import { keysLostOf } from '../generated-keys.ts'
import { isSecretNamed, secretNamesOf, secretsAskedIn } from '../missing-secrets.ts'

const KIND = 'Secret'
const AFTERMATH =
  'What was started with the old values keeps them: containers until they are restarted, guests until they get a new disk (RebuildRequired), and data such as the users of a database'
/** Keys, or members, that a message names. More are only counted. */
const SHOWN_MAX = 4

/** Secrets whose values the operator makes. A plan has none of the values: they are made when a Secret is written. */
export const SECRET_KIND: ComponentKind = {
  kind: KIND,
  types: [{ type: SECRET, propagationPolicy: 'Background' }],
  children: ({ workspace, spec }) =>
    (spec.secrets ?? []).map(
      (secret): Component => ({
        kind: KIND,
        name: secret.name,
        objects: [renderGeneratedSecret({ workspace, secret })],
        needs: [],
        ...withWarnings(warningsOn(spec, secret)),
      }),
    ),
  standing: (world, { name, objects: [wanted] }) => {
    const { workspace, spec, secretKeys, children } = world
    const told = workspace.status.components?.find((one) => one.kind === KIND && one.name === name)
    const lostWith = (text: string) => ({
      standing: componentWaiting('SecretLost', lossText(world, wanted, text, told?.message)),
      isThere: false,
    })
    // Only one that was read is known to have all its values again.
    if (secretKeys.get(name) === undefined && told?.reason === 'SecretLost')
      return lostWith(told.message?.split(';', 1)[0] ?? '')
    const secret = spec.ok ? spec.spec.secrets?.find((one) => one.name === name) : undefined
    const keys = (secret?.generate ?? []).map(({ key }) => key)
    const lost = secret === undefined ? [] : keysLostOf(world, secret)
    const { uid, resourceVersion } = children.get(idOf(KIND, name))?.metadata ?? {}
    if (lost.length === 0 || wanted === undefined)
      return { standing: componentReady(`Secret ${name} has its random values: ${firstFew(keys, SHOWN_MAX)}`) }
    // Only what lacks these keys is given other values: people may put the old ones there at the same time.
    const apply = [{ ...wanted, metadata: { ...wanted.metadata, uid, resourceVersion } }]
    const what = `Secret ${name} has no value for ${firstFew(lost, SHOWN_MAX)} any more: another one is made`
    return { ...lostWith(`${what}. ${AFTERMATH}`), apply }
  },
  loss,
  hasData: ({ children }, { name }) => children.has(idOf(KIND, name)) || undefined,
  // It is not made any more, but its values are nowhere else.
  isNeeded: ({ spec }, { kind, metadata }) =>
    kind === SECRET.kind && spec.ok && isSecretNamed(spec.spec, metadata.name),
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

/** What it has besides is of people: they may have put there what is asked of it. */
function warningsOn(spec: WorkspaceSpec, { name, generate }: WorkspaceSecret): string[] {
  const made = new Set(generate.map(({ key }) => key))
  const asked = (secretsAskedIn(spec).get(name) ?? []).filter(({ key }) => key === undefined || !made.has(key))
  const lacking = [...Map.groupBy(asked, ({ key }) => key)].map(([key, by]) => {
    const members = firstFew([...new Set(by.map((one) => one.by))], SHOWN_MAX)
    return key === undefined
      ? `it is no login to a registry, and ${members} names it in pullSecrets: name one of type kubernetes.io/dockerconfigjson there`
      : `its key ${key} is not made, and ${members} needs it: add it to generate of the Secret, or name one that is there`
  })
  return [...lacking, ...generate.flatMap((one) => warningOnLength(spec, name, one))]
}

/** No error: people may have put a shorter value there. */
function warningOnLength(
  { vms = [] }: WorkspaceSpec,
  name: string,
  { key, length = GENERATED_LENGTH }: WorkspaceSecret['generate'][number],
): string[] {
  const guests = vms.filter(
    ({ os, users = [] }) =>
      os === 'windows' &&
      users.some(({ passwordSecretRef: ref }) => ref !== undefined && ref.name === name && ref.key === key),
  )
  if (length <= WINDOWS_PASSWORD_MAX || guests.length === 0) return []
  const members = firstFew(
    guests.map((vm) => idOf('VirtualMachine', vm.name)),
    SHOWN_MAX,
  )
  const most = WINDOWS_PASSWORD_MAX
  return [
    `its key ${key} is made with ${length} characters, and ${members} needs it as a password of Windows, which has at most ${most}: give it length: ${most} in generate of the Secret or, once it is made, name another key that has`,
  ]
}

/** Says that values are gone, or about to be. They are nowhere else: the operator does not know them. */
function loss({ children, workspace }: WorkspaceWorld, component: Component): ComponentStanding | undefined {
  const { name } = component
  const secret = children.get(idOf(KIND, name))
  const isGoing = secret !== undefined && isTerminating(secret)
  if (!(isGoing || hadData(workspace, component))) return undefined
  const what = isGoing ? 'is being deleted' : 'is gone'
  return componentWaiting(
    'SecretLost',
    `Secret ${name} ${what}, and with it its values: it is made again with other ones. ${AFTERMATH}`,
  )
}
