import { ApiError, type ApiErrorReason } from './api-error.ts'
import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  RequestOptions,
  Selection,
  WatchEvent,
  WatchOptions,
} from './kube-client.ts'
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from './kube-object.ts'

export interface FakeCall {
  readonly verb: string
  readonly kind: string
  readonly key: string
  /** What was sent, or the selection of a list or watch. */
  readonly body: unknown
  readonly options: unknown
}

export function apiError(reason: ApiErrorReason, more: Partial<ConstructorParameters<typeof ApiError>[0]> = {}) {
  return new ApiError({ reason, status: STATUS[reason], message: `scripted ${reason}`, ...more })
}

const STATUS: Record<ApiErrorReason, number> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Rejected: 422,
  Unavailable: 503,
  NoAnswer: 0,
}

/** One open watch, in the hands of a test. */
export interface FakeWatch {
  readonly kind: string
  readonly options: WatchOptions
  send(event: WatchEvent<KubeObject>): void
  end(): void
  break(error: Error): void
}

/**
 * An API server of a few lines: objects with versions, compare-and-swap, uid preconditions. Watches deliver only what a
 * test sends. `before` may throw (the request never arrived) or wait; `after` may throw (it did, and its answer was lost).
 */
export class FakeClient implements KubeClient {
  readonly calls: FakeCall[] = []
  readonly watches: FakeWatch[] = []
  /** Whether a watch may begin with what exists; a test then sends that, too. */
  canStream = false
  before: ((call: FakeCall) => void | Promise<void>) | undefined
  after: ((call: FakeCall) => void | Promise<void>) | undefined
  readonly #objects = new Map<string, KubeObject>()
  #version = 100

  /** Puts an object there as somebody else would. */
  put<T extends KubeObject>(object: T): T {
    return this.#store(object.kind, object) as T
  }

  drop(kind: string, key: string): void {
    this.#objects.delete(`${kind} ${key}`)
  }

  peek<T extends KubeObject>(kind: string, key: string): T | undefined {
    return this.#objects.get(`${kind} ${key}`) as T | undefined
  }

  all(kind: string): KubeObject[] {
    return [...this.#objects.entries()].filter(([id]) => id.startsWith(`${kind} `)).map(([, object]) => object)
  }

  /** `verb Kind key` of all calls so far, or of those of some verbs. */
  said(...verbs: string[]): string[] {
    return this.calls
      .filter(({ verb }) => verbs.length === 0 || verbs.includes(verb))
      .map(({ verb, kind, key }) => `${verb} ${kind} ${key}`)
  }

  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T> {
    return this.#request('get', type, keyOf(key), undefined, options, () => this.#existing(type, key) as T)
  }

  list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ListPage<T>> {
    return this.#request('list', type, options.namespace ?? '', options, options, () => {
      const all = this.all(type.kind).filter((object) => isSelected(object, options)) as T[]
      const from = Number(options.continueToken ?? 0)
      const to = from + (options.limit ?? all.length)
      const { project = (object: KubeObject) => object } = options
      const items = all.slice(from, to).map((object) => project(object)) as T[]
      const page = { items, resourceVersion: String(this.#version) }
      return to < all.length ? { ...page, continueToken: String(to) } : page
    })
  }

  create<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    return this.#request('create', type, keyOf(object.metadata), object, options, () => {
      if (this.peek(type.kind, keyOf(object.metadata)) !== undefined) throw apiError('AlreadyExists')
      return this.#store(type.kind, object) as T
    })
  }

  replace<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    return this.#request('replace', type, keyOf(object.metadata), object, options, () => this.#swap(type, object) as T)
  }

  replaceStatus<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    return this.#request('status', type, keyOf(object.metadata), object, options, () => {
      const { status } = object as T & { status: unknown }
      const existing = this.#existing(type, object.metadata)
      const merged = { ...existing, metadata: { ...existing.metadata, resourceVersion: versionOf(object) }, status }
      return this.#swap(type, merged) as unknown as T
    })
  }

  mergePatch<T extends KubeObject>(
    type: ResourceType,
    key: ObjectKey,
    patch: object,
    options?: RequestOptions,
  ): Promise<T> {
    return this.#request('patch', type, keyOf(key), patch, options, () => {
      const existing = this.#existing(type, key)
      const { metadata = {}, ...rest } = patch as { metadata?: Partial<KubeObject['metadata']> }
      const wanted = metadata.resourceVersion ?? versionOf(existing)
      if (wanted !== versionOf(existing)) throw apiError('Conflict')
      return this.#store(type.kind, {
        ...existing,
        ...rest,
        metadata: { ...existing.metadata, ...metadata },
      }) as unknown as T
    })
  }

  delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    return this.#request('delete', type, keyOf(key), undefined, options, () => {
      const existing = this.#existing(type, key)
      const isOther = options.uid !== undefined && options.uid !== existing.metadata.uid
      const isChanged = options.resourceVersion !== undefined && options.resourceVersion !== versionOf(existing)
      if (isOther || isChanged) throw apiError('Conflict')
      this.drop(type.kind, keyOf(key))
    })
  }

  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const { resourceVersion } = options
    const verb = resourceVersion === undefined ? 'stream' : 'watch'
    const call: FakeCall = { verb, kind: type.kind, key: resourceVersion ?? '', body: options, options }
    this.calls.push(call)
    await this.before?.(call)
    if (resourceVersion === undefined && !this.canStream) throw apiError('Rejected')
    const backlog: (WatchEvent<KubeObject> | Error | 'end')[] = []
    let wake = Promise.withResolvers<void>()
    const add = (item: WatchEvent<KubeObject> | Error | 'end') => {
      backlog.push(item)
      wake.resolve()
    }
    options.signal?.addEventListener('abort', () => add('end'), { once: true })
    this.watches.push({ kind: type.kind, options, send: add, end: () => add('end'), break: add })
    for (;;) {
      const item = backlog.shift()
      if (item === 'end' || options.signal?.aborted) return
      if (item instanceof Error) throw item
      if (item !== undefined) {
        yield item as WatchEvent<T>
        continue
      }
      wake = Promise.withResolvers()
      await wake.promise
    }
  }

  async #request<T>(
    verb: string,
    { kind }: ResourceType,
    key: string,
    body: unknown,
    options: unknown,
    work: () => T,
  ): Promise<T> {
    const call: FakeCall = { verb, kind, key, body: structuredClone(asData(body)), options }
    this.calls.push(call)
    await this.before?.(call)
    const answer = structuredClone(work())
    await this.after?.(call)
    return answer
  }

  #existing(type: ResourceType, key: ObjectKey): KubeObject {
    const found = this.peek(type.kind, keyOf(key))
    if (found === undefined) throw apiError('NotFound')
    return found
  }

  #swap(type: ResourceType, object: KubeObject): KubeObject {
    const existing = this.#existing(type, object.metadata)
    if (versionOf(existing) !== versionOf(object)) throw apiError('Conflict')
    return this.#store(type.kind, object)
  }

  #store(kind: string, object: KubeObject): KubeObject {
    this.#version += 1
    const key = `${kind} ${keyOf(object.metadata)}`
    const uid = object.metadata.uid ?? this.#objects.get(key)?.metadata.uid ?? `uid-${this.#version}`
    const metadata = { ...object.metadata, uid, resourceVersion: String(this.#version) }
    const stored = { ...structuredClone(object), metadata }
    this.#objects.set(key, stored)
    return stored
  }
}

/** Without what no request carries. */
function asData(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('signal' in body || 'project' in body)) return body
  return { ...body, signal: undefined, project: undefined }
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '0'
}

function isSelected(object: KubeObject, { namespace, labelSelector, fieldSelector }: Selection): boolean {
  const { metadata } = object
  if (namespace !== undefined && metadata.namespace !== namespace) return false
  const fields = fieldSelector?.split(',').map((one) => /^([^!=]+)(!?=)(.*)$/.exec(one) ?? []) ?? []
  const isField = (path: string, value: string | undefined) => (fieldAt(object, path) ?? '') === value
  if (fields.some(([, path = '', sign, value]) => isField(path, value) !== (sign === '='))) return false
  if (labelSelector === undefined) return true
  const [label = '', value] = labelSelector.split('=')
  const actual = metadata.labels?.[label]
  return value === undefined ? actual !== undefined : actual === value
}

function fieldAt(object: KubeObject, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], object)
}
