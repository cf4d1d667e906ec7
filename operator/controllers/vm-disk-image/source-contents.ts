import { CERTIFICATE_ENDINGS, CREDENTIAL_KEYS } from '@open-terrain/constructs/operator'
import { isApiError } from '../../kube/api-error.ts'
import { find } from '../../kube/find.ts'
import { type KubeObject, keyOf, namespaceOf, type Raw, type ResourceType } from '../../kube/kube-object.ts'
import { CONFIG_MAP, SECRET } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from '../../runtime/live-read-loop.ts'
import type { Requeue } from '../../runtime/requeue.ts'
import type { Readable, Stored } from '../../runtime/store.ts'

/** What a value is, as far as decisions need it. */
type Value = 'empty' | 'text' | 'JSON'

/** What a Secret with credentials has, without its values; `unread`: the API server refuses to show it. */
export type SecretContent =
  | 'unread'
  | {
      /** It is made for the kubelet, to pull container images. */
      readonly isPullSecret: boolean
      /** Of the keys that CDI may read. */
      readonly keys: Readonly<Partial<Record<string, Value>>>
    }

/** What is known of an object that is named. `pending`: it is there, but its present version is not read yet. */
export type Found<T> = 'missing' | 'pending' | T

/** Whether a ConfigMap has certificates: `named` if one of them is under a key that CDI reads for a registry too. */
export type Certificates = 'unread' | 'none' | 'unnamed' | 'named'

const PULL_SECRETS: ReadonlySet<unknown> = new Set(['kubernetes.io/dockerconfigjson', 'kubernetes.io/dockercfg'])

export function viewSecretContent(secret: KubeObject): SecretContent {
  const { type, data = {} }: Raw = secret
  const found = CREDENTIAL_KEYS.filter((key) => typeof data[key] === 'string')
  return {
    isPullSecret: PULL_SECRETS.has(type),
    keys: Object.fromEntries(found.map((key) => [key, judged(Buffer.from(data[key], 'base64').toString())])),
  }
}

function judged(text: string): Value {
  if (text === '') return 'empty'
  if (!text.trimStart().startsWith('{')) return 'text'
  try {
    JSON.parse(text)
    return 'JSON'
  } catch {
    return 'text'
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/

export function viewCertificates(configMap: KubeObject): Certificates {
  const { data = {}, binaryData = {} }: Raw = configMap
  const decoded = Object.entries(binaryData).map(([key, text]) => [key, Buffer.from(String(text), 'base64').toString()])
  // CDI passes over hidden files.
  const keys = [...Object.entries(data), ...decoded].flatMap(([key, text]) =>
    !String(key).startsWith('.') && CERTIFICATE.test(String(text)) ? [String(key)] : [],
  )
  if (keys.length === 0) return 'none'
  return keys.some((key) => CERTIFICATE_ENDINGS.some((ending) => key.endsWith(ending))) ? 'named' : 'unnamed'
}

function known<T>(store: Readable<Stored>, contents: WeakMap<Stored, T>, key: string): Found<T> {
  const meta = store.get(key)
  return meta === undefined ? 'missing' : (contents.get(meta) ?? 'pending')
}

interface SourceContentsOptions extends LiveReadServices {
  /** Their metadata alone, with versions. */
  readonly secrets: Readable<Stored>
  readonly configMaps: Readable<Stored>
  /** Called with the key of an object that has been read. */
  readonly onRead: (type: ResourceType, key: string) => void
}

/**
 * Reads the Secrets and ConfigMaps that images name, by name, each once for every version of it. Only what the values are is kept, never a value. The
 * caches have no content, because a watch of all Secrets of a cluster should not.
 */
export class SourceContents extends LiveReadLoop {
  readonly #options: SourceContentsOptions
  /** By the metadata in the cache, which is another object for every version. */
  readonly #secrets = new WeakMap<Stored, SecretContent>()
  readonly #certificates = new WeakMap<Stored, Certificates>()

  constructor(options: SourceContentsOptions) {
    super(options, 'vmdiskimage-source-contents', (id, signal) => this.#check(id, signal), namespaceOf)
    this.#options = options
  }

  /** Returns what is known of the present version of a Secret. @param key `<namespace>/<name>` */
  secret(key: string): Found<SecretContent> {
    return known(this.#options.secrets, this.#secrets, key)
  }

  /** As {@link secret}, of a ConfigMap. */
  certificates(key: string): Found<Certificates> {
    return known(this.#options.configMaps, this.#certificates, key)
  }

  /** Reads the present version of an object soon, unless that is done. @param key `<namespace>/<name>` */
  read(kind: 'Secret' | 'ConfigMap', key: string): void {
    this.readAfter(`${key}/${kind}`, 0)
  }

  async #check(id: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const { secrets, configMaps } = this.#options
    const [namespace, name, kind] = id.split('/')
    const key = keyOf({ namespace, name: name ?? '' })
    if (kind === SECRET.kind) await this.#read(SECRET, key, secrets, this.#secrets, viewSecretContent, signal)
    else await this.#read(CONFIG_MAP, key, configMaps, this.#certificates, viewCertificates, signal)
    return undefined
  }

  async #read<T>(
    type: ResourceType,
    key: string,
    store: Readable<Stored>,
    contents: WeakMap<Stored, T | 'unread'>,
    view: (object: KubeObject) => T,
    signal: AbortSignal,
  ): Promise<void> {
    const meta = store.get(key)
    if (meta === undefined || contents.has(meta)) return
    contents.set(meta, await this.#viewOf(type, meta, view, signal))
    this.#options.onRead(type, key)
  }

  /** A newer version than that of the cache is read again when the watch brings it; so is one that is gone. */
  async #viewOf<T>(type: ResourceType, { metadata }: Stored, view: (object: KubeObject) => T, signal: AbortSignal) {
    const { namespace = '', name } = metadata
    try {
      const object = await find(this.#options.client, type, { namespace, name }, { signal })
      return object === undefined ? 'unread' : view(object)
    } catch (error) {
      if (isApiError(error, 'Rejected')) return 'unread'
      throw error
    }
  }
}
