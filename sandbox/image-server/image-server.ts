import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sleep, systemClock } from '../../operator/base/clock.ts'
import { blockOf, checksumOf, slice } from './content.ts'
import { type ImageAnswer, type ImageRule, RuleBook } from './rules.ts'
import { type ImageStats, type ServerStats, StatsBook } from './stats.ts'

const DEFAULT_SIZE_BYTES = 4 * 1024 * 1024
/** Interval at which a throttled download sends data. */
const TICK_MS = 20

export interface ImageServerOptions {
  /** Size of an image for which no rule sets a size. */
  readonly defaultSizeBytes?: number
}

/**
 * Serves an image for every host name and path, on loopback. Rules set size, speed and faults. Unknown paths return a
 * small image, so that any URL can be downloaded. `GET /__stats` returns the download statistics as JSON.
 */
export class ImageServer {
  readonly #server: Server
  readonly #rules: RuleBook
  readonly #stats = new StatsBook()
  readonly #blocks = new Map<string, Buffer>()
  readonly #stopping = new AbortController()

  private constructor(options: ImageServerOptions) {
    this.#rules = new RuleBook(options.defaultSizeBytes ?? DEFAULT_SIZE_BYTES)
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  static async start(options: ImageServerOptions = {}): Promise<ImageServer> {
    const server = new ImageServer(options)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Applies a rule to all later requests. Returns a function that removes the rule. */
  set(rule: ImageRule): () => void {
    return this.#rules.set(rule)
  }

  stats(): ServerStats {
    return this.#stats.all()
  }

  /** Returns the statistics of one image, by its URL. */
  statsOf(url: string): ImageStats {
    return this.#stats.of(imageOf(url))
  }

  /** Returns the checksum of the image at this URL, in the format of a DataVolume's `checksum`. */
  checksum(url: string, algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512' = 'sha256'): string {
    const image = imageOf(url)
    const slash = image.indexOf('/')
    return checksumOf(image, this.#rules.sizeOf(image.slice(0, slash), image.slice(slash)), algorithm)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://sandbox')
    if (pathname === '/__stats') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(this.stats()))
      return
    }
    const host = hostName(request.headers.host ?? '')
    const image = `${host}${pathname}`
    const answer = this.#rules.answer(host, pathname)
    const download = this.#stats.open(image)
    let isComplete = false
    const closed = new AbortController()
    response.once('close', () => {
      closed.abort()
      download.close(isComplete)
    })
    if (answer.fault.status !== undefined) {
      response.statusCode = answer.fault.status
      response.end()
      return
    }
    response.setHeader('content-type', 'application/octet-stream')
    response.setHeader('content-length', answer.sizeBytes)
    if (request.method === 'HEAD') {
      response.end()
      return
    }
    const signal = AbortSignal.any([closed.signal, this.#stopping.signal])
    isComplete = await this.#send(image, answer, response, (bytes) => download.sent(bytes), signal)
  }

  /** Resolves with true if all bytes were sent. */
  async #send(
    image: string,
    answer: ImageAnswer,
    response: ServerResponse,
    onSent: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { sizeBytes, fault, hold } = answer
    const block = this.#block(fault.corrupt ? `${image} corrupt` : image)
    const end = Math.min(sizeBytes, fault.cutAfterBytes ?? sizeBytes, fault.stallAfterBytes ?? sizeBytes)
    const pour = async (from: number, to: number) => {
      const startedAt = systemClock.monotonic()
      let sent = from
      while (sent < to && !signal.aborted) {
        const allowed = from + bytesWithin(systemClock.monotonic() - startedAt, answer)
        const bytes = slice(block, sent, Math.floor(Math.min(to, allowed)) - sent)
        if (bytes.length === 0) {
          await sleep(systemClock, TICK_MS, signal).catch(() => undefined)
          continue
        }
        sent += bytes.length
        onSent(bytes.length)
        if (!response.write(bytes)) await once(response, 'drain', { signal }).catch(() => undefined)
      }
    }
    const heldAt = Math.min(end, hold?.afterBytes ?? end)
    await pour(0, heldAt)
    if (hold !== undefined && !signal.aborted) await Promise.race([hold.until, once(signal, 'abort')])
    await pour(heldAt, end)
    if (signal.aborted) return false
    return await finish(response, answer)
  }

  #block(seed: string): Buffer {
    const known = this.#blocks.get(seed)
    if (known !== undefined) return known
    const block = blockOf(seed)
    // Ten thousand images would hold 640 MB. Recreating a block takes well under a millisecond.
    if (this.#blocks.size > 256) this.#blocks.clear()
    this.#blocks.set(seed, block)
    return block
  }
}

function bytesWithin(ms: number, { bytesPerSecond }: ImageAnswer): number {
  return bytesPerSecond === undefined ? Number.POSITIVE_INFINITY : (ms * bytesPerSecond) / 1_000
}

/** Ends a response after its last byte: normally, not at all (a stall), or by breaking the connection. */
async function finish(response: ServerResponse, { sizeBytes, fault }: ImageAnswer): Promise<boolean> {
  const { stallAfterBytes = sizeBytes, cutAfterBytes = sizeBytes } = fault
  if (stallAfterBytes < sizeBytes) return false
  if (cutAfterBytes < sizeBytes) {
    // Flush what was written first. Otherwise the client would get fewer bytes than we counted.
    await new Promise<void>((resolve) => response.write('', () => resolve()))
    response.socket?.end()
    return false
  }
  response.end()
  return true
}

/** Returns the host and path of an image on the image server. Object store and registry URLs become paths of their host. */
export function addressOf(url: string): { readonly host: string; readonly path: string } {
  const gcs = /^gs:\/\/(.*)$/.exec(url)
  if (gcs?.[1] !== undefined) return addressOf(`https://storage.googleapis.com/${gcs[1]}`)
  const parsed = new URL(url.replace(/^docker:\/\//, 'http://'))
  return { host: parsed.hostname, path: `${parsed.pathname}${parsed.search}` }
}

function imageOf(url: string): string {
  const { host, path } = addressOf(url)
  return `${host}${path.replace(/\?.*$/, '')}`
}

function hostName(host: string): string {
  return host.replace(/:\d+$/, '')
}
