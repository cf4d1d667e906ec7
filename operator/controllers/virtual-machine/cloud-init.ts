import type { CloudInitUser, VirtualMachineSpec } from '@open-terrain/constructs'
import { renderCloudInit, withMacAddresses } from '@open-terrain/constructs'
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

/** Looks up the passwords that a machine's users name, and renders the cloud-init data of its guest. */
export class CloudInitSource {
  readonly #client: KubeClient
  readonly #secrets: Pick<Readable<KubeObject>, 'get'>
  /** The last result rendered with passwords of Secrets, by uid of the machine. One that is large is rendered each time. */
  readonly #rendered = new Map<string, { readonly of: string; readonly cloudInit: CloudInit }>()
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
    const names = (spec.users ?? []).flatMap(({ passwordSecretRef: ref }) => (ref === undefined ? [] : [ref.name]))
    if (names.length === 0) return await this.#render(vm, spec, signal)
    const versions = names.map((name) => this.#secrets.get(keyOf({ namespace, name }))?.metadata.resourceVersion ?? '')
    const of = [generation, ...versions].join()
    const known = this.#rendered.get(uid)
    if (known?.of === of) return known.cloudInit
    const cloudInit = await this.#render(vm, spec, signal)
    if (cloudInit.kind === 'missing' && cloudInit.isRefused) return cloudInit
    this.#failures.forget(uid)
    if (fits(cloudInit, KEPT_MAX)) this.#rendered.set(uid, { of, cloudInit })
    else this.#rendered.delete(uid)
    return cloudInit
  }

  async #render(vm: MachineView, spec: VirtualMachineSpec, signal: AbortSignal): Promise<CloudInit> {
    const { uid = '', name, namespace = '' } = vm.metadata
    const users: CloudInitUser[] = []
    for (const { passwordSecretRef: ref, ...user } of spec.users ?? []) {
      if (ref === undefined) {
        users.push(user)
        continue
      }
      const password = await this.#read(vm, ref, signal)
      if (typeof password !== 'string') {
        const { why, ...refused } = password
        const secret = keyOf({ namespace, name: ref.name })
        const message = `the password of user ${JSON.stringify(user.name)} is to come from key ${ref.key} of Secret ${secret}, which ${why}`
        return { kind: 'missing', message, ...refused }
      }
      users.push({ ...user, plain_text_passwd: password })
    }
    const interfaces = withMacAddresses(uid, name, spec.interfaces ?? [])
    return { kind: 'rendered', data: renderCloudInit({ hostname: spec.name ?? name, users, interfaces }) }
  }

  async #read({ metadata }: MachineView, ref: { name: string; key: string }, signal: AbortSignal) {
    const { uid = '', namespace = '' } = metadata
    try {
      const secret = await find<SecretContent>(this.#client, SECRET, { namespace, name: ref.name }, { signal })
      const text = Buffer.from(secret?.data?.[ref.key] ?? '', 'base64').toString('utf8')
      const line = text.replace(/\r?\n$/, '')
      return ONE_LINE.test(line) ? line : { why: 'does not exist or holds no single line of text: create it' }
    } catch (error) {
      if (!this.#failures.isAnswer(uid, error)) throw error
      const who = error.reason === 'Rejected' ? 'the operator may not read' : 'the API server cannot read'
      return { why: `${who}: ${redactUrls(error.message)}`, isRefused: true }
    }
  }
}
