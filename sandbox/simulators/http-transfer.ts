import { createHash, type Hash } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { addressOf } from '../image-server/image-server.ts'
import { checksumText, refusedText, TRUNCATED_TEXT, unreachableText } from './importer-texts.ts'
import { ImportFailure, type Transfer, type TransferJob } from './transfer.ts'

/**
 * Really downloads, over plain HTTP, from the image server, whatever host the URL names: the effect of a hosts file.
 * The Host header stays the URL's.
 */
export function httpTransfer(imageServer: { readonly port: number }): Transfer {
  return { start: (job) => new Download(imageServer.port, job).run() }
}

/** One request, from connecting to the closed socket. */
class Download {
  readonly #job: TransferJob
  readonly #request: ClientRequest
  readonly #hash: Hash | undefined
  #bytes = 0
  /** Undefined until the answer has begun. */
  #total: number | undefined
  #isEnough = false
  #outcome: Error | undefined

  constructor(port: number, job: TransferJob) {
    this.#job = job
    const { host, path } = addressOf(job.url)
    this.#request = request({ host: '127.0.0.1', port, path, headers: { host }, agent: false, signal: job.signal })
    const algorithm = job.checksum?.split(':')[0]
    this.#hash = algorithm === undefined ? undefined : createHash(algorithm)
  }

  run(): Promise<{ bytes: number }> {
    const { signal, url, sourceType } = this.#job
    return new Promise((resolve, reject) => {
      this.#request.on('response', (response) => this.#receive(response))
      this.#request.on('error', (error) => {
        if (this.#total === undefined)
          this.#outcome ??= new ImportFailure(unreachableText(sourceType, url, error.message))
      })
      // The last event in any case: the socket is closed.
      this.#request.on('close', () => {
        if (signal.aborted) return reject(signal.reason as Error)
        const outcome = this.#outcome ?? this.#judge()
        if (outcome === undefined) resolve({ bytes: this.#bytes })
        else reject(outcome)
      })
      this.#request.end()
    })
  }

  #receive(response: IncomingMessage): void {
    const { url, sourceType, stopAfterBytes = Number.POSITIVE_INFINITY, onProgress } = this.#job
    const status = response.statusCode ?? 0
    if (status !== 200) {
      this.#fail(refusedText(sourceType, url, status, `SANDBOX${String(status).padStart(9, '0')}`))
      return
    }
    const total = Number(response.headers['content-length'] ?? 0)
    this.#total = total
    response.on('data', (chunk: Buffer) => {
      const bytes = chunk.subarray(0, Math.max(0, stopAfterBytes - this.#bytes))
      this.#bytes += bytes.length
      this.#hash?.update(bytes)
      onProgress(this.#bytes, total)
      this.#isEnough = this.#bytes >= stopAfterBytes
      if (this.#isEnough) this.#request.destroy()
    })
    // A broken answer may say so only after the request has closed, which is where it is judged.
    response.on('error', () => undefined)
  }

  /** What the importer makes of the bytes that came before the connection closed. */
  #judge(): Error | undefined {
    if (this.#isEnough) return undefined
    if (this.#bytes < (this.#total ?? 1)) return new ImportFailure(TRUNCATED_TEXT)
    const { checksum } = this.#job
    if (this.#hash === undefined || checksum === undefined) return undefined
    const actual = `${checksum.split(':')[0]}:${this.#hash.digest('hex')}`
    return actual === checksum ? undefined : new ImportFailure(checksumText(checksum, actual))
  }

  #fail(message: string): void {
    this.#outcome = new ImportFailure(message)
    this.#request.destroy()
  }
}
