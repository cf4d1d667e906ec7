import {
  type CloudInitUser,
  renderCloudInit,
  type VirtualMachineSpec,
  withMacAddresses,
} from '@open-terrain/constructs'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import type { MachineView } from './views.ts'
import type { CloudInit } from './world.ts'

interface SecretContent extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** A password of one line, with or without a line end behind it: login programs read one a line. */
const ONE_LINE = /^[^\p{Cc}]{1,256}$/u

/** Looks up the passwords that a machine's users name, and renders what its guest is told. */
export class CloudInitSource {
  readonly #client: KubeClient

  constructor(client: KubeClient) {
    this.#client = client
  }

  /** Reads the named Secrets, live and by name. Throws ApiError, but for a Secret that does not exist. */
  async render(vm: MachineView, spec: VirtualMachineSpec, signal: AbortSignal): Promise<CloudInit> {
    const { uid = '', name, namespace = '' } = vm.metadata
    const users: CloudInitUser[] = []
    for (const { passwordSecretRef: ref, ...user } of spec.users ?? []) {
      if (ref === undefined) {
        users.push(user)
        continue
      }
      const password = await this.#read(namespace, ref, signal)
      if (password === undefined) return { kind: 'missing', message: missing(namespace, user.name, ref) }
      users.push({ ...user, plain_text_passwd: password })
    }
    const interfaces = withMacAddresses(uid, name, spec.interfaces ?? [])
    return { kind: 'rendered', data: renderCloudInit({ hostname: spec.name ?? name, users, interfaces }) }
  }

  async #read(namespace: string, ref: { name: string; key: string }, signal: AbortSignal): Promise<string | undefined> {
    try {
      const secret = await this.#client.get<SecretContent>(SECRET, { namespace, name: ref.name }, { signal })
      const encoded = secret.data?.[ref.key]
      if (encoded === undefined) return undefined
      const text = Buffer.from(encoded, 'base64')
        .toString('utf8')
        .replace(/\r?\n$/, '')
      return ONE_LINE.test(text) ? text : undefined
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined
      throw error
    }
  }
}

function missing(namespace: string, user: string, { name, key }: { name: string; key: string }): string {
  const secret = keyOf({ namespace, name })
  return `the password of user ${JSON.stringify(user)} is to come from key ${key} of Secret ${secret}, which does not exist or holds no single line of text: create it`
}
