import { createHash, type Hash } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { addressOf } from '../image-server/image-server.ts'
import { checksumText, refusedText, TRUNCATED_TEXT, unreachableText } from './importer-texts.ts'
import { ImportFailure, type Transfer, type TransferJob } from './transfer.ts'

/**
 * Downloads over plain HTTP from the image server, whatever host the URL names, as with a hosts file. The Host header
 * keeps the host of the URL.
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
  /** Undefined until the response has started. */
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
      // Always the last event: the socket is closed.
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
    // A broken response may emit `error` only after the request has closed, and the outcome is decided at that close.
    response.on('error', () => undefined)
  }

  /** Returns the error that the importer reports for the bytes received before the connection closed, or undefined on success. */
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
