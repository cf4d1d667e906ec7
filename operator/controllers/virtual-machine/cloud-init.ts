import {
  asUserDataBegins,
  type CloudInitData,
  type CloudInitProps,
  type CloudInitUser,
  earlierCloudInit,
  isUserData,
  isWindows,
  renderCloudInit,
  type SpecWarning,
  userDataWarnings,
  type VirtualMachineSpec,
  WINDOWS_PASSWORD_MAX,
  withGuestHosts,
  withMacAddresses,
} from '@open-terrain/constructs/operator'
import { redactUrls } from '../../base/messages.ts'
import { type AskedKey, type AwaitedSecret, secretRemedy } from '../../cluster/secret-remedies.ts'
import { find } from '../../kube/find.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import { fits, KEPT_MAX } from '../../runtime/foreign.ts'
import { FailureCount } from '../../runtime/refusals.ts'
import type { Readable } from '../../runtime/store.ts'
import type { CloudInit, MachineView, MissingCloudInit as Missing } from './world.ts'

interface SecretContent extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** A password is one line, since login programs read one per line. A line end after it is removed before the check. */
const ONE_LINE = /^[^\p{Cc}]{1,256}$/u
/** Bytes that the API server takes in all values of a Secret together. */
const SECRET_MAX = 1_048_576
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Keys that the status of a machine has room for: a password of each user. The message names all. */
const KEYS_MAX = 16
/** Characters of what is said of missing keys. It may follow the message of a machine that runs. */
const REMEDY_MAX = 3_000

/** What was rendered last. */
interface Known {
  /** Versions of the machine and of the Secrets. */
  readonly of: string
  /** Undefined for one that is large: it is rendered each time. */
  readonly cloudInit: CloudInit | undefined
  /** It takes longer to find them than to render the data. */
  readonly warnings: readonly SpecWarning[]
}

/** Looks up the passwords and the user data that a machine names, and renders the cloud-init data of its guest. */
export class CloudInitSource {
  readonly #client: KubeClient
  readonly #secrets: Pick<Readable<KubeObject>, 'get'>
  /** The last result with something of a Secret or with user data, by uid of the machine. */
  readonly #rendered = new Map<string, Known>()
  /** Failures to read a Secret, by uid of the machine. */
  readonly #failures = new FailureCount()

  /** @param secrets has the versions of Secrets, so that an unchanged Secret is not read again */
  constructor(client: KubeClient, secrets: Pick<Readable<KubeObject>, 'get'>) {
    this.#client = client
    this.#secrets = secrets
  }

  /** Forgets a machine that is gone. */
  forget(uid: string): void {
    this.#rendered.delete(uid)
    this.#failures.forget(uid)
  }

  /**
   * Reads the named Secrets, by name, when they or the machine changed. Throws ApiError if the API server cannot read one. A rejection, or
   * several failures in a row, is returned as `missing` instead, so that the status of a machine that waits for it shows why.
   */
  async render(vm: MachineView, spec: VirtualMachineSpec, signal: AbortSignal): Promise<CloudInit> {
    const { uid = '', generation, namespace = '' } = vm.metadata
    const refs = [...(spec.users ?? []).map(({ passwordSecretRef }) => passwordSecretRef), spec.userDataSecretRef]
    const names = refs.flatMap((ref) => (ref === undefined ? [] : [ref.name]))
    if (names.length === 0 && spec.userData === undefined) return await this.#render(vm, spec, signal)
    const versions = names.map((name) => this.#secrets.get(keyOf({ namespace, name }))?.metadata.resourceVersion ?? '')
    const of = [generation, ...versions].join()
    const last = this.#rendered.get(uid)
    const known = last?.of === of ? last : undefined
    if (known?.cloudInit !== undefined) return known.cloudInit
    const cloudInit = await this.#render(vm, spec, signal, known?.warnings)
    if (cloudInit.kind === 'missing' && cloudInit.isRefused) return cloudInit
    this.#failures.forget(uid)
    const warnings = cloudInit.kind === 'rendered' ? (cloudInit.warnings ?? []) : []
    this.#rendered.set(uid, { of, cloudInit: fits(cloudInit, KEPT_MAX) ? cloudInit : undefined, warnings })
    return cloudInit
  }

  async #render(
    vm: MachineView,
    spec: VirtualMachineSpec,
    signal: AbortSignal,
    warnings?: readonly SpecWarning[],
  ): Promise<CloudInit> {
    const { uid = '', namespace = '', name } = vm.metadata
    const keys = keysIn(spec)
    const secrets = new Map<string, SecretContent | undefined>()
    for (const one of keys) {
      if (secrets.has(one.name)) continue
      const { secret, refusal } = await this.#read(vm, one, signal)
      if (refusal !== undefined) return { kind: 'missing', reason: one.reason, message: refusal, isRefused: true }
      secrets.set(one.name, secret)
    }
    const lacking = keys.filter((one) => !hasValue(secrets.get(one.name), one))
    if (lacking.length > 0) return missingKeys(namespace, keys, lacking, secrets)
    const users = (spec.users ?? []).map(({ passwordSecretRef: ref, ...user }): CloudInitUser => {
      return ref === undefined ? user : { ...user, plain_text_passwd: lineIn(valueAt(secrets.get(ref.name), ref.key)) }
    })
    const userData = userDataOf(namespace, spec, secrets)
    if (typeof userData === 'object') return userData
    const interfaces = withMacAddresses(uid, name, spec.interfaces ?? [])
    const props: CloudInitProps = { os: spec.os, hostname: spec.name ?? name, users, interfaces }
    const tooLong = longPassword(namespace, spec, users)
    if (tooLong !== undefined) return tooLong
    if (userData === undefined) return rendered(props)
    const whole = rendered({ ...props, userData })
    const tooLarge = tooMuchFor(spec, whole.data)
    const found = warnings ?? userDataWarnings({ ...props, userData })
    if (whole.earlier === undefined) return tooLarge ?? { ...whole, warnings: found }
    // Which of both is written is not known here.
    const earlier = { ...whole.earlier, tooLarge: tooMuchFor(spec, whole.earlier.data) }
    return { ...whole, tooLarge, earlier, warnings: found }
  }

  async #read({ metadata }: MachineView, { what, name, key }: NeededKey, signal: AbortSignal): Promise<Answer> {
    const { uid = '', namespace = '' } = metadata
    try {
      return { secret: await find<SecretContent>(this.#client, SECRET, { namespace, name }, { signal }) }
    } catch (error) {
      if (!this.#failures.isAnswer(uid, error)) throw error
      const who = error.reason === 'Rejected' ? 'the operator may not read' : 'the API server cannot read'
      const secret = keyOf({ namespace, name })
      const refusal = `${what} is to come from key ${key} of Secret ${secret}, which ${who}: ${redactUrls(error.message)}`
      return { refusal }
    }
  }
}

function rendered(props: CloudInitProps) {
  const earlier = earlierCloudInit(props)
  return { kind: 'rendered' as const, data: renderCloudInit(props), ...(earlier !== undefined && { earlier }) }
}

/** What the API server says to a read of a Secret. */
interface Answer {
  /** Undefined if it does not exist. */
  readonly secret?: SecretContent | undefined
  /** Why it cannot be read. */
  readonly refusal?: string
}

/** A key of a Secret that the guest needs something of. */
interface NeededKey extends Required<Omit<AskedKey, 'all'>> {
  /** What is to come from it, at the beginning of a sentence. */
  readonly what: string
  /** What waits for it, in words for people. */
  readonly by: string
  readonly reason: Missing['reason']
}

function keysIn({ users = [], userDataSecretRef }: VirtualMachineSpec): readonly NeededKey[] {
  const passwords = users.flatMap(({ name, passwordSecretRef: ref }): NeededKey[] => {
    const by = `user ${JSON.stringify(name)}`
    const what = `the password of ${by}`
    return ref === undefined ? [] : [{ ...ref, placeholder: 'PASSWORD', what, by, reason: 'MissingPasswordSecret' }]
  })
  if (userDataSecretRef === undefined) return passwords
  const [what, reason] = ['userData', 'MissingUserDataSecret'] as const
  return [...passwords, { ...userDataSecretRef, placeholder: 'FILE', what, by: what, reason }]
}

function valueAt(secret: SecretContent | undefined, key: string): Buffer {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64')
}

/** Returns the password that a value is; undefined if it is none. */
function lineIn(value: Buffer): string | undefined {
  const line = value.toString('utf8').replace(/\r?\n$/, '')
  return ONE_LINE.test(line) ? line : undefined
}

/** Reports whether there is a value. User data is judged when everything is there. */
function hasValue(secret: SecretContent | undefined, { key, placeholder }: NeededKey): boolean {
  const value = valueAt(secret, key)
  return placeholder === 'PASSWORD' ? lineIn(value) !== undefined : value.length > 0
}

/** The owners of a workspace have no such right. */
const WITHOUT_PATCH = 'who may not patch Secrets deletes it, and creates it with all its keys'

/** Returns all that people have to do before the guest has its passwords and its user data. */
function missingKeys(
  namespace: string,
  keys: readonly NeededKey[],
  lacking: readonly NeededKey[],
  secrets: ReadonlyMap<string, SecretContent | undefined>,
): Missing {
  const awaited = [...Map.groupBy(lacking, ({ name }) => name)].map(
    ([name, own]): AwaitedSecret => ({
      name,
      asked: keys.filter((one) => one.name === name),
      ...(secrets.get(name) !== undefined && { lacks: [...new Set(own.map(({ key }) => key))] }),
      by: own.map(({ by }) => by),
    }),
  )
  const remedy = secretRemedy(awaited, { namespace, max: REMEDY_MAX, change: 'patch' })
  const message = awaited.some(({ lacks }) => lacks !== undefined) ? `${remedy}; ${WITHOUT_PATCH}` : remedy
  const missing = new Map(lacking.map(({ name, key }) => [`${name}/${key}`, { name, key }]))
  const reason = lacking.find((one) => one.placeholder === 'PASSWORD')?.reason ?? 'MissingUserDataSecret'
  return { kind: 'missing', reason, message, keys: [...missing.values()].slice(0, KEYS_MAX) }
}

/** Returns the user data of the spec, or of the Secret that it names, or why it is none. */
function userDataOf(
  namespace: string,
  { os, userData, userDataSecretRef: ref }: VirtualMachineSpec,
  secrets: ReadonlyMap<string, SecretContent | undefined>,
): string | undefined | Missing {
  if (ref === undefined) return userData
  const found = textIn(valueAt(secrets.get(ref.name), ref.key), os)
  if (typeof found === 'string') return found
  const secret = keyOf({ namespace, name: ref.name })
  const message = `userData is to come from key ${ref.key} of Secret ${secret}, which ${found.why}`
  return { kind: 'missing', reason: 'MissingUserDataSecret', message }
}

/** For Windows. The schema judges passwords of the spec itself. */
function longPassword(
  namespace: string,
  spec: VirtualMachineSpec,
  users: readonly CloudInitUser[],
): Missing | undefined {
  const found = (spec.users ?? []).find(({ passwordSecretRef }, at) => {
    const password = users[at]?.plain_text_passwd ?? ''
    if (spec.os !== 'windows') return false
    return passwordSecretRef !== undefined && [...password].length > WINDOWS_PASSWORD_MAX
  })
  if (found?.passwordSecretRef === undefined) return undefined
  const { name, key } = found.passwordSecretRef
  const message = `the password of user ${JSON.stringify(found.name)}, key ${key} of Secret ${keyOf({ namespace, name })}, has more than ${WINDOWS_PASSWORD_MAX} characters: cloudbase-init makes no such user, so put a shorter one there, or, where spec.secrets of a Workspace makes it, name another key that has length: ${WINDOWS_PASSWORD_MAX} there`
  return { kind: 'missing', reason: 'MissingPasswordSecret', message }
}

/** Returns that the data, with the host names, does not fit into a Secret, and what to leave out; undefined if it fits. */
function tooMuchFor(spec: VirtualMachineSpec, { userdata, networkdata = '' }: CloudInitData): Missing | undefined {
  const without = Buffer.byteLength(userdata) + Buffer.byteLength(networkdata)
  // Windows does not get them.
  const whole = isWindows(spec) ? userdata : withGuestHosts(userdata, spec.hostAliases)
  const bytes = Buffer.byteLength(whole) + Buffer.byteLength(networkdata)
  if (bytes <= SECRET_MAX) return undefined
  const remedy =
    without <= SECRET_MAX
      ? `leave out names of spec.hostAliases, which are ${bytes - without} of these bytes`
      : 'have the guest fetch a part of it, with #include or in a script'
  const message = `the user data is too large: with what the operator adds to it the guest would get ${bytes} bytes, and a Secret holds ${SECRET_MAX}; ${remedy}`
  return { kind: 'missing', reason: 'MissingUserDataSecret', message }
}

function textIn(value: Buffer, os: VirtualMachineSpec['os']): string | { readonly why: string } {
  const text = utf8(value)
  if (text === undefined) return { why: 'is not text in UTF-8: put it there as it is, not compressed' }
  return isUserData(text, os) ? text : { why: `does not ${asUserDataBegins(os)}; correct it` }
}

function utf8(value: Buffer): string | undefined {
  try {
    return UTF_8.decode(value)
  } catch {
    return undefined
  }
}
