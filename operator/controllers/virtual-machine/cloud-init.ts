import type { CloudInitProps, CloudInitUser, SpecWarning, VirtualMachineSpec } from '@open-terrain/constructs'
import {
  BEGINS_AS_USER_DATA,
  isUserData,
  renderCloudInit,
  userDataWarnings,
  withMacAddresses,
} from '@open-terrain/constructs'
import { find } from '../../kube/find.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import { fits, KEPT_MAX } from '../../runtime/foreign.ts'
import { redactUrls } from '../../runtime/redact.ts'
import { FailureCount } from '../../runtime/refusals.ts'
import type { Readable } from '../../runtime/store.ts'
import type { CloudInit, MachineView } from './world.ts'

interface SecretContent extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** A password is one line, since login programs read one per line. A line end after it is removed before the check. */
const ONE_LINE = /^[^\p{Cc}]{1,256}$/u
/** Bytes that the API server takes in all values of a Secret together. */
const SECRET_MAX = 1_048_576
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

type Missing = Extract<CloudInit, { kind: 'missing' }>
type KeyRef = NonNullable<VirtualMachineSpec['userDataSecretRef']>

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
    const { uid = '', name } = vm.metadata
    const users = await this.#users(vm, spec, signal)
    if ('kind' in users) return users
    const userData = await this.#userData(vm, spec, signal)
    if (typeof userData === 'object') return userData
    const interfaces = withMacAddresses(uid, name, spec.interfaces ?? [])
    const props: CloudInitProps = { hostname: spec.name ?? name, users, interfaces }
    if (userData === undefined) return { kind: 'rendered', data: renderCloudInit(props) }
    const data = renderCloudInit({ ...props, userData })
    const bytes = Buffer.byteLength(data.userdata) + Buffer.byteLength(data.networkdata ?? '')
    if (bytes > SECRET_MAX) {
      const message = `the user data is too large: with what the operator adds to it the guest would get ${bytes} bytes, and a Secret holds ${SECRET_MAX}; have the guest fetch a part of it, with #include or in a script`
      return { kind: 'missing', reason: 'MissingUserDataSecret', message }
    }
    return { kind: 'rendered', data, warnings: warnings ?? userDataWarnings({ ...props, userData }) }
  }

  /** Returns the users of the guest with their passwords, or which one is missing. */
  async #users(vm: MachineView, spec: VirtualMachineSpec, signal: AbortSignal): Promise<CloudInitUser[] | Missing> {
    const { namespace = '' } = vm.metadata
    const users: CloudInitUser[] = []
    for (const { passwordSecretRef: ref, ...user } of spec.users ?? []) {
      if (ref === undefined) {
        users.push(user)
        continue
      }
      const password = await this.#read(vm, ref, passwordIn, signal)
      if (typeof password !== 'string') {
        const { why, ...refused } = password
        const secret = keyOf({ namespace, name: ref.name })
        const message = `the password of user ${JSON.stringify(user.name)} is to come from key ${ref.key} of Secret ${secret}, which ${why}`
        return { kind: 'missing', message, ...refused }
      }
      users.push({ ...user, plain_text_passwd: password })
    }
    return users
  }

  /** Returns the user data of the spec, or of the Secret that it names, or why there is none. */
  async #userData(
    vm: MachineView,
    { userData, userDataSecretRef: ref }: VirtualMachineSpec,
    signal: AbortSignal,
  ): Promise<string | undefined | Missing> {
    if (ref === undefined) return userData
    const { namespace = '' } = vm.metadata
    const found = await this.#read(vm, ref, (value) => userDataIn(value, namespace, ref), signal)
    if (typeof found === 'string') return found
    const { why, ...refused } = found
    const message = `userData is to come from key ${ref.key} of Secret ${keyOf({ namespace, name: ref.name })}, which ${why}`
    return { kind: 'missing', reason: 'MissingUserDataSecret', message, ...refused }
  }

  /** @param judged returns the text, or why the value is none */
  async #read(
    { metadata }: MachineView,
    ref: KeyRef,
    judged: (value: Buffer) => string | { readonly why: string },
    signal: AbortSignal,
  ): Promise<string | { readonly why: string; readonly isRefused?: boolean }> {
    const { uid = '', namespace = '' } = metadata
    try {
      const secret = await find<SecretContent>(this.#client, SECRET, { namespace, name: ref.name }, { signal })
      return judged(Buffer.from(secret?.data?.[ref.key] ?? '', 'base64'))
    } catch (error) {
      if (!this.#failures.isAnswer(uid, error)) throw error
      const who = error.reason === 'Rejected' ? 'the operator may not read' : 'the API server cannot read'
      return { why: `${who}: ${redactUrls(error.message)}`, isRefused: true }
    }
  }
}

function passwordIn(value: Buffer): string | { readonly why: string } {
  const line = value.toString('utf8').replace(/\r?\n$/, '')
  return ONE_LINE.test(line) ? line : { why: 'does not exist or holds no single line of text: create it' }
}

function userDataIn(value: Buffer, namespace: string, { name, key }: KeyRef): string | { readonly why: string } {
  if (value.length === 0) {
    const command = `kubectl -n ${namespace} create secret generic ${name} --from-file=${key}=FILE`
    return { why: `does not exist, has no such key, or is empty there: ${command}` }
  }
  const text = utf8(value)
  if (text === undefined) return { why: 'is not text in UTF-8: put it there as it is, not compressed' }
  return isUserData(text) ? text : { why: `does not ${BEGINS_AS_USER_DATA}; correct it` }
}

function utf8(value: Buffer): string | undefined {
  try {
    return UTF_8.decode(value)
  } catch {
    return undefined
  }
}
