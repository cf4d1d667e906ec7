import { addAbortListener } from 'node:events'
import { messageOf } from '../base/messages.ts'
import { bodyText, errorFrom, setResourceType, warningsIn, watchEvent } from './answers.ts'
import { ApiError } from './api-error.ts'
import type { Connection } from './connection.ts'
import { deadlineOf } from './deadline.ts'
import { type Answer, Exchange } from './exchange.ts'
import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  RequestOptions,
  RequestReport,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from './kube-object.ts'
import { readList } from './list-items.ts'
import type { RequestBudget } from './request-budget.ts'
import { LEASE } from './resource-types.ts'
import { readLines } from './watch-lines.ts'

const JSON_TYPE = 'application/json'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const METADATA_ONE = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

/** Of a request that is about no object. */
const NO_TYPE: ResourceType = { group: '', version: '', kind: 'Text', plural: 'paths', namespaced: false }

export interface HttpClientOptions {
  readonly connection: Connection
  /** Pool for watches, because each watch holds a connection. Default: `connection`. */
  readonly watchConnection?: Connection
  readonly userAgent: string
  readonly budget?: RequestBudget
  readonly onRequest?: (report: RequestReport) => void
  /** Called with the header `Date` of each answer, when it arrives. */
  readonly onDate?: (date: string | undefined) => void
}

interface Call {
  readonly verb: string
  /** @default GET */
  readonly method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly type: ResourceType
  readonly key: Partial<ObjectKey>
  /** Of a request that is about no object. Default: that of type and key. */
  readonly path?: string
  /** Of the path: `/status` for the subresource. */
  readonly suffix?: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: object
  readonly contentType?: string
  readonly accept?: string
  readonly options?: RequestOptions | undefined
}

/** {@link KubeClient} that uses JSON over HTTP with a real API server. */
export class HttpKubeClient implements KubeClient {
  readonly #options: HttpClientOptions

  constructor(options: HttpClientOptions) {
    this.#options = options
  }

  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T> {
    return this.#call<T>({ verb: 'get', type, key, options })
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ListPage<T>> {
    const { labelSelector, fieldSelector, limit, continueToken: after, project = (object) => object } = options
    const call: Call = {
      verb: 'list',
      type,
      key: { namespace: options.namespace },
      query: { labelSelector, fieldSelector, limit, continue: after },
      accept: options.metadataOnly ? METADATA_LIST : JSON_TYPE,
      options,
    }
    const items: T[] = []
    const { metadata, bytes } = await this.#call(call, async (body) => {
      const list = await readList(body, (item) => items.push(project(setResourceType(type, JSON.parse(item))) as T))
      return { ...(JSON.parse(list.json) as ListBody), bytes: list.bytes }
    })
    const { resourceVersion, continue: continueToken } = metadata
    return { items, resourceVersion, bytes, ...(continueToken && { continueToken }) }
  }

  /** Returns the answer to a GET of a path that is no object, such as `/version` or the log of a pod. Throws ApiError. */
  readPath(path: string, options?: RequestOptions): Promise<string> {
    const call: Call = { verb: 'get', type: NO_TYPE, key: {}, path, accept: '*/*', options }
    return this.#call(call, (body) => bodyText(body))
  }

  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T> {
    const { namespace } = object.metadata
    const query = validationOf(options)
    return this.#call<T>({ verb: 'create', method: 'POST', type, key: { namespace }, query, body: object, options })
  }

  replace<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    return this.#put(type, object, '', options)
  }

  replaceStatus<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    return this.#put(type, object, '/status', options)
  }

  mergePatch<T extends KubeObject>(
    type: ResourceType,
    key: ObjectKey,
    patch: object,
    options?: WriteOptions,
  ): Promise<T> {
    const contentType = 'application/merge-patch+json'
    const query = validationOf(options)
    return this.#call<T>({ verb: 'patch', method: 'PATCH', type, key, query, body: patch, contentType, options })
  }

  async delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds } = options
    const isConditional = uid !== undefined || resourceVersion !== undefined
    const preconditions = isConditional ? { uid, resourceVersion } : undefined
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy, preconditions, gracePeriodSeconds }
    await this.#call<unknown>({ verb: 'delete', method: 'DELETE', type, key, body, options })
  }

  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds } = options
    // Without a resourceVersion, the initial events are those of the most recent state, as in a consistent list.
    const everything = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
    const from = resourceVersion === undefined ? everything : { resourceVersion }
    const call: Call = {
      // A watch that starts with the existing objects replaces a list.
      verb: resourceVersion === undefined ? 'list' : 'watch',
      type,
      key: { namespace },
      query: { labelSelector, fieldSelector, watch: 1, allowWatchBookmarks: true, ...from, timeoutSeconds },
      accept: options.metadataOnly ? METADATA_ONE : JSON_TYPE,
    }
    const report = this.#reporter(call)
    try {
      const response = await this.#send(call, this.#options.watchConnection ?? this.#options.connection, options.signal)
      // The response has started. The duration of the watch is not reported.
      report(String(response.statusCode))
      if (response.statusCode !== 200) throw await errorFrom(call, response)
      for await (const line of readLines(response.body)) yield watchEvent<T>(type, line)
    } catch (error) {
      report('<error>')
      if (options.signal?.aborted) return
      throw error instanceof ApiError ? error : noAnswer(call, error)
    }
  }

  #put<T extends KubeObject>(type: ResourceType, object: T, suffix: string, options?: RequestOptions): Promise<T> {
    const { metadata: key } = object
    if (key.resourceVersion === undefined) {
      throw new TypeError(`replacing ${type.kind} ${key.name} needs metadata.resourceVersion`)
    }
    return this.#call<T>({ verb: 'update', method: 'PUT', type, key, suffix, body: object, options })
  }

  async #call<T>(
    call: Call,
    read: (body: Answer['body']) => Promise<T> = async (body) =>
      setResourceType(call.type, JSON.parse(await bodyText(body))) as T,
  ): Promise<T> {
    const report = this.#reporter(call)
    using deadline = deadlineOf(call.options)
    let code = '<error>'
    let warning: string | undefined
    try {
      await this.#options.budget?.take(deadline.signal).catch(() => Promise.reject(notSent(call)))
      const response = await this.#send(call, this.#options.connection, deadline.signal)
      code = String(response.statusCode)
      warning = warningsIn(response, call)
      if (response.statusCode < 200 || response.statusCode > 299)
        throw await errorFrom(call, response, () => this.#stored(call))
      return await read(response.body)
    } catch (error) {
      if (error instanceof ApiError) {
        if (error.retryAfterMs !== undefined) this.#options.budget?.closeFor(error.retryAfterMs)
        throw error
      }
      throw noAnswer(call, error)
    } finally {
      report(code, warning)
    }
  }

  /** Returns the object that a request names, if there is one. Who watches a kind may list it, and may not be allowed to get it. */
  async #stored({ type, key: { namespace, name }, options }: Call): Promise<KubeObject | undefined> {
    // A Lease holds no secrets, and its client may not list it.
    if (name === undefined || type === LEASE) return undefined
    const fieldSelector = `metadata.name=${name}`
    const signal = options?.signal
    const { items } = await this.list(type, {
      fieldSelector,
      ...(namespace && { namespace }),
      ...(signal && { signal }),
    })
    return items[0]
  }

  /** Returns a function that reports a request that starts now. Only its first call has an effect. */
  #reporter({ verb, type }: Call): (code: string, warning?: string) => void {
    const started = performance.now()
    let isReported = false
    return (code, warning) => {
      if (isReported) return
      isReported = true
      const seconds = (performance.now() - started) / 1_000
      this.#options.onRequest?.({ verb, resource: type.plural, code, seconds, ...(warning && { warning }) })
    }
  }

  async #send(call: Call, connection: Connection, signal: AbortSignal | undefined): Promise<Answer> {
    const credentials = connection.credentials()
    const { headers, dispatcher } = credentials instanceof Promise ? await orAborted(credentials, signal) : credentials
    const base = connection.server.pathname.replace(/\/$/, '')
    const request = {
      origin: connection.server.origin,
      path: base + (call.path ?? pathOf(call)),
      method: call.method ?? 'GET',
      headers: {
        ...headers,
        accept: call.accept ?? JSON_TYPE,
        'user-agent': this.#options.userAgent,
        ...(call.body !== undefined && { 'content-type': call.contentType ?? JSON_TYPE }),
      },
      body: call.body === undefined ? null : JSON.stringify(call.body),
    }
    const refuse = () => (call.options?.isStillValid?.() === false ? notSent(call) : undefined)
    const answer = await Exchange.begin(dispatcher, request, signal, refuse)
    this.#options.onDate?.(answer.headers.date)
    return answer
  }
}

/** Settles like `work`, or rejects if `signal` aborts first. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  const aborted = Promise.withResolvers<never>()
  using _listener = addAbortListener(signal, () => aborted.reject(signal.reason))
  return await Promise.race([aborted.promise, work])
}

function pathOf({ type, key: { namespace, name }, suffix = '', query = {} }: Call): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`
  const scope = type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const one = name === undefined ? '' : `/${encodeURIComponent(name)}${suffix}`
  const search = new URLSearchParams()
  for (const [parameter, value] of Object.entries(query)) if (value !== undefined) search.set(parameter, String(value))
  return `${root}${scope}/${type.plural}${one}${search.size === 0 ? '' : `?${search}`}`
}

function validationOf(options: WriteOptions | undefined): Call['query'] {
  return {
    ...(options?.isStrict === true && { fieldValidation: 'Strict' }),
    ...(options?.isDryRun === true && { dryRun: 'All' }),
  }
}

/** Body of a list without its items. */
interface ListBody {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
}

function notSent(call: Call): ApiError {
  const message = `${call.verb} ${call.type.plural}: not sent, it had to wait too long for its turn`
  return new ApiError({ reason: 'Unavailable', status: 0, message })
}

function noAnswer(call: Call, cause: unknown): ApiError {
  const text = messageOf(cause)
  const message = `${call.verb} ${call.type.plural}: no answer from the API server (${text})`
  return new ApiError({ reason: 'NoAnswer', status: 0, message, cause })
}
