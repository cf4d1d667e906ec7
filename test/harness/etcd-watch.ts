import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { readLines } from '../../operator/kube/watch-lines.ts'
import { late, lateness } from './late-watches.ts'
import { HANGS_AFTER_MS } from './mirror.ts'
import { responseTo } from './response.ts'

/** How long to wait before reconnecting to an etcd that is down. */
const RETRY_MS = 50

/** One change of a key. Keys and values are in base64. */
export interface EtcdChange {
  readonly type?: 'DELETE'
  readonly kv: {
    readonly key: string
    readonly value?: string
    readonly mod_revision: string
    readonly create_revision?: string
  }
  readonly prev_kv?: { readonly value: string }
}

interface WatchAnswer {
  readonly result?: {
    readonly events?: readonly EtcdChange[]
    readonly canceled?: boolean
    readonly cancel_reason?: string
    readonly compact_revision?: string
  }
  readonly error?: unknown
}

interface Waiting {
  readonly revision: number
  readonly reached: PromiseWithResolvers<void>
}

/** The latest revision of all keys. Throws if etcd does not respond. */
export async function latestRevision(etcdUrl: string): Promise<number> {
  return await post(`${etcdUrl}/v3/kv/range`, { key: btoa('/') })
}

/**
 * Reports every change below an etcd key prefix, from one revision on, once and in order. If etcd dies, the watch reconnects and
 * continues after the last change. Nothing can have been written in the meantime.
 */
export class EtcdWatch implements AsyncDisposable {
  readonly #url: string
  readonly #prefix: string
  /** The first key after those with the prefix. No API server uses it, so a write to it shows how far the watch has come. */
  readonly #marker: string
  readonly #onChange: (change: EtcdChange) => void
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  readonly #waiting = new Set<Waiting>()
  #upTo: number
  #failure: unknown
  readonly #lateMs = lateness('history')

  /**
   * @param prefix with a slash at its end
   * @param from the first revision to report
   */
  constructor(options: { url: string; prefix: string; from: number; onChange: (change: EtcdChange) => void }) {
    this.#url = options.url
    this.#prefix = options.prefix
    this.#marker = `${options.prefix.slice(0, -1)}0`
    this.#upTo = options.from - 1
    this.#onChange = options.onChange
    this.#running = this.#run()
  }

  /** Resolves when everything that was written before this call was reported. Throws if revisions are missing, or etcd is silent. */
  async catchUp(): Promise<void> {
    const revision = await post(`${this.#url}/v3/kv/put`, { key: btoa(this.#marker) })
    if (this.#failure !== undefined) throw this.#failure
    if (this.#upTo >= revision) return
    const waiting: Waiting = { revision, reached: Promise.withResolvers() }
    this.#waiting.add(waiting)
    const tooLate = setTimeout(() => {
      waiting.reached.reject(new Error(`etcd did not tell of revision ${revision} of ${this.#prefix}`))
    }, HANGS_AFTER_MS)
    try {
      await waiting.reached.promise
    } finally {
      clearTimeout(tooLate)
      this.#waiting.delete(waiting)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      for await (const answer of this.#answers()) this.#take(answer)
    } catch (error) {
      this.#failure = error
      for (const { reached } of this.#waiting) reached.reject(error)
    }
  }

  /** Reconnects as often as necessary. */
  async *#answers(): AsyncGenerator<WatchAnswer> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        for await (const line of late(readLines(await this.#connect(signal)), this.#lateMs)) {
          const answer = JSON.parse(line) as WatchAnswer
          if (answer.error !== undefined) break
          yield answer
        }
      } catch {
        // etcd is down or starting.
      }
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Has no timeout: a range may have no changes for minutes. */
  async #connect(signal: AbortSignal): Promise<IncomingMessage> {
    const range = { key: btoa(this.#prefix), range_end: btoa(`${this.#marker}\0`) }
    const watch = { ...range, prev_kv: true, start_revision: this.#upTo + 1 }
    const asked = request(`${this.#url}/v3/watch`, { method: 'POST', signal, agent: false })
    return await responseTo(asked.end(JSON.stringify({ create_request: watch })))
  }

  #take({ result = {} }: WatchAnswer): void {
    if (result.canceled) {
      const why = result.compact_revision === undefined ? result.cancel_reason : 'it has forgotten that revision'
      throw new Error(`etcd does not tell of ${this.#prefix} from revision ${this.#upTo + 1} on: ${why}`)
    }
    for (const change of result.events ?? []) {
      if (atob(change.kv.key) !== this.#marker) this.#onChange(change)
      this.#upTo = Number(change.kv.mod_revision)
    }
    for (const { revision, reached } of this.#waiting) if (this.#upTo >= revision) reached.resolve()
  }
}

/** Returns the revision in the header of the response. */
async function post(url: string, body: object): Promise<number> {
  const answer = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(HANGS_AFTER_MS),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`etcd answered ${answer.status} to ${url}: ${text}`)
  const { header } = JSON.parse(text) as { header: { revision: string } }
  return Number(header.revision)
}
