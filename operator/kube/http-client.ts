import { bodyText, errorFrom, errorText, setResourceType, warningsIn, watchEvent } from './answers.ts'
import { ApiError } from './api-error.ts'
import type { Connection } from './connection.ts'
import { Deadline } from './deadline.ts'
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
} from './kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from './kube-object.ts'
import { readList } from './list-items.ts'
import type { RequestBudget } from './request-budget.ts'
import { readLines } from './watch-lines.ts'

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const METADATA_ONE = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

export interface HttpClientOptions {
  readonly connection: Connection
  /** Pool for watches, because each watch holds a connection. Default: `connection`. */
  readonly watchConnection?: Connection
  readonly userAgent: string
  readonly budget?: RequestBudget
  readonly onRequest?: (report: RequestReport) => void
}

interface Call {
  readonly verb: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly type: ResourceType
  readonly path: string
  readonly query?: URLSearchParams
  readonly body?: object
  readonly contentType?: string
  readonly accept?: string
  readonly options?: RequestOptions | undefined
}

type Read<T> = (body: Answer['body']) => Promise<T>

/** {@link KubeClient} that uses JSON over HTTP with a real API server. */
export class HttpKubeClient implements KubeClient {
  readonly #options: HttpClientOptions

  constructor(options: HttpClientOptions) {
    this.#options = options
  }

  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T> {
    return this.#call<T>({ verb: 'get', method: 'GET', type, path: pathOf(type, key.namespace, key.name), options })
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ListPage<T>> {
    const { labelSelector, fieldSelector, limit, continueToken: after, project = (object) => object } = options
    const call: Call = {
      verb: 'list',
      method: 'GET',
      type,
      path: pathOf(type, options.namespace),
      query: queryOf({ labelSelector, fieldSelector, limit, continue: after }),
      accept: options.metadataOnly ? METADATA_LIST : 'application/json',
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

  create<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    const path = pathOf(type, object.metadata.namespace)
    return this.#call<T>({ verb: 'create', method: 'POST', type, path, body: object, options })
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
    options?: RequestOptions,
  ): Promise<T> {
    const path = pathOf(type, key.namespace, key.name)
    const contentType = 'application/merge-patch+json'
    return this.#call<T>({ verb: 'patch', method: 'PATCH', type, path, body: patch, contentType, options })
  }

  async delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagationPolicy } = options
    const isConditional = uid !== undefined || resourceVersion !== undefined
    await this.#call<unknown>({
      verb: 'delete',
      method: 'DELETE',
      type,
      path: pathOf(type, key.namespace, key.name),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy,
        ...(isConditional && { preconditions: { uid, resourceVersion } }),
      },
      options,
    })
  }

  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const { labelSelector, fieldSelector, resourceVersion, timeoutSeconds } = options
    // Without a resourceVersion, the initial events are those of the most recent state, as in a consistent list.
    const everything = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
    const from = resourceVersion === undefined ? everything : { resourceVersion }
    const how = { watch: 1, allowWatchBookmarks: true, ...from, timeoutSeconds }
    const call: Call = {
      // A watch that starts with the existing objects replaces a list.
      verb: resourceVersion === undefined ? 'list' : 'watch',
      method: 'GET',
      type,
      path: pathOf(type, options.namespace),
      query: queryOf({ labelSelector, fieldSelector, ...how }),
      accept: options.metadataOnly ? METADATA_ONE : 'application/json',
    }
    const report = this.#reporter(call)
    try {
      const response = await this.#send(call, this.#options.watchConnection ?? this.#options.connection, options.signal)
      // The response has started. The duration of the watch is not reported.
      report(String(response.statusCode))
      if (response.statusCode !== 200) throw errorFrom(call, response, await errorText(response.body))
      for await (const line of readLines(response.body)) yield watchEvent<T>(type, line)
    } catch (error) {
      report('<error>')
      if (options.signal?.aborted) return
      throw error instanceof ApiError ? error : noAnswer(call, error)
    }
  }

  #put<T extends KubeObject>(type: ResourceType, object: T, suffix: string, options?: RequestOptions): Promise<T> {
    if (object.metadata.resourceVersion === undefined) {
      throw new TypeError(`replacing ${type.kind} ${object.metadata.name} needs metadata.resourceVersion`)
    }
    const path = pathOf(type, object.metadata.namespace, object.metadata.name) + suffix
    return this.#call<T>({ verb: 'update', method: 'PUT', type, path, body: object, options })
  }

  async #call<T>(
    call: Call,
    read: Read<T> = async (body) => setResourceType(call.type, JSON.parse(await bodyText(body))) as T,
  ): Promise<T> {
    const report = this.#reporter(call)
    using deadline = new Deadline(call.options)
    let code = '<error>'
    let warning: string | undefined
    try {
      await this.#options.budget?.take(deadline.signal).catch(() => Promise.reject(notSent(call)))
      const response = await this.#send(call, this.#options.connection, deadline.signal)
      code = String(response.statusCode)
      warning = warningsIn(response)
      if (response.statusCode < 200 || response.statusCode > 299)
        throw errorFrom(call, response, await errorText(response.body))
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
    const query = call.query === undefined || call.query.size === 0 ? '' : `?${call.query}`
    const request = {
      origin: connection.server.origin,
      path: `${base}${call.path}${query}`,
      method: call.method,
      headers: {
        ...headers,
        accept: call.accept ?? 'application/json',
        'user-agent': this.#options.userAgent,
        ...(call.body !== undefined && { 'content-type': call.contentType ?? 'application/json' }),
      },
      body: call.body === undefined ? null : JSON.stringify(call.body),
    }
    const refuse = () => (call.options?.isStillValid?.() === false ? notSent(call) : undefined)
    return await Exchange.begin(dispatcher, request, signal, refuse)
  }
}

/** Settles like `work`, or rejects if `signal` aborts first. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([aborted.promise, work])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function pathOf(type: ResourceType, namespace?: string, name?: string): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`
  const scope = type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${scope}/${type.plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

function queryOf(parameters: Readonly<Record<string, string | number | boolean | undefined>>): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value))
  return query
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
  const text = cause instanceof Error ? cause.message : String(cause)
  const message = `${call.verb} ${call.type.plural}: no answer from the API server (${text})`
  return new ApiError({ reason: 'NoAnswer', status: 0, message, cause })
}
