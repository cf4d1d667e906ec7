import { ApiError } from '../../operator/kube/api-error.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { persist } from './persist.ts'

const PARALLEL = 24

/** A response of the API server. */
export interface Answer {
  readonly status: number
  /** The server's error message. Empty if the request succeeded. */
  readonly message: string
  /** What it warns of, as it was sent. Empty if it does not. */
  readonly warnings: string
  /** Uid of the FlowSchema by which the API server gave the request its priority. */
  readonly flowSchema: string | undefined
}

/** Content type of each kind of request. */
const CONTENT_TYPES = {
  GET: 'application/json',
  POST: 'application/json',
  PUT: 'application/json',
  PATCH: 'application/merge-patch+json',
  APPLY: 'application/apply-patch+yaml',
  DELETE: 'application/json',
} as const

export type Write = keyof typeof CONTENT_TYPES

/** A user of the API server. `ask` returns every response, also a refusal. */
export class ApiUser implements AsyncDisposable {
  readonly #connection: Connection

  constructor(kubeconfigPath: string) {
    this.#connection = Connection.fromEnvironment(PARALLEL, kubeconfigPath)
  }

  async ask(write: Write, path: string, body?: unknown): Promise<Answer> {
    const { dispatcher, headers } = await this.#connection.credentials()
    const {
      statusCode,
      headers: answered,
      body: stream,
    } = await dispatcher.request({
      origin: this.#connection.server.origin,
      path,
      method: write === 'APPLY' ? 'PATCH' : write,
      headers: { ...headers, 'content-type': CONTENT_TYPES[write] },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await stream.text()
    const isGranted = statusCode < 300
    return {
      status: statusCode,
      message: isGranted ? '' : ((JSON.parse(text) as { message?: string }).message ?? ''),
      warnings: [answered['warning'] ?? []].flat().join('; '),
      flowSchema: [answered['x-kubernetes-pf-flowschema-uid']].flat()[0],
    }
  }

  /** Sends a request that must succeed for the test to make sense. Throws if it does not. */
  async must(write: Write, path: string, body?: unknown): Promise<void> {
    const { status, message } = await this.ask(write, path, body)
    if (status >= 300) throw new Error(`${write} ${path} is answered with ${status}: ${message}`)
  }

  /** Repeats a request until it gets the wanted response. Nothing shows when an admission policy takes effect. */
  async askUntil(wanted: RegExp | 'granted', write: Write, path: string, body?: unknown): Promise<void> {
    await persist(`${path} is ${wanted}`, ['Unavailable'], async () => {
      const { status, message } = await this.ask(write, path, body)
      if (wanted === 'granted' ? status < 300 : status >= 300 && wanted.test(message)) return
      throw new ApiError({ reason: 'Unavailable', status, message: `${status}: ${message}` })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close()
  }
}
