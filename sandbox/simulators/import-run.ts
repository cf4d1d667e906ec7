import type { Egress } from './egress.ts'
import { type FaultMoment, momentOf, type RunFault } from './faults.ts'
import { checksumText, TRUNCATED_TEXT } from './importer-texts.ts'
import { ImportFailure, type Transfer, type TransferJob } from './transfer.ts'

export interface ImportOrder {
  /** Empty: there is nothing to download. */
  readonly url: string
  readonly sourceType: string
  readonly checksum: string | undefined
  readonly fault: RunFault | undefined
}

/** How a container run ended. */
export type RunEnd =
  | { readonly type: 'completed' }
  | { readonly type: 'error'; readonly message: string; readonly hidden: boolean }
  | { readonly type: 'oomKilled' }
  | { readonly type: 'evicted' }
  | { readonly type: 'scratchSpaceRequired' }
  | { readonly type: 'stopped' }

/** One run of an importer container: one download from byte 0, and how it ends. */
export class ImportRun {
  #bytes = 0
  #total = 0
  #end: RunEnd | undefined
  readonly #stopping = new AbortController()
  readonly #settled: Promise<void>

  constructor(order: ImportOrder, transfer: Transfer, egress: Egress, onEnd: () => void) {
    this.#settled = this.#run(order, transfer, egress).then((end) => {
      this.#end = end
      onEnd()
    })
  }

  /** Undefined while it runs. */
  get end(): RunEnd | undefined {
    return this.#end
  }

  /** Progress as CDI prints it; undefined without data. Never 100%, which is only for a finished import. */
  get progress(): string | undefined {
    if (this.#bytes === 0 || this.#total === 0) return undefined
    return `${Math.min(99.99, (this.#bytes / this.#total) * 100).toFixed(2)}%`
  }

  /** Stops the run. Resolves when nothing is downloaded anymore. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#settled
  }

  async #run(order: ImportOrder, transfer: Transfer, egress: Egress): Promise<RunEnd> {
    const { url, checksum, fault } = order
    const after = fault === undefined ? 'end' : momentOf(fault)
    const isInstant = after === 0 && fault?.type !== 'stall'
    if (url !== '' && !isInstant) return await this.#download(order, after, transfer, egress.begin(url))
    return fault === undefined ? { type: 'completed' } : endOf(fault, checksum)
  }

  async #download(
    order: ImportOrder,
    after: FaultMoment,
    transfer: Transfer,
    count: ReturnType<Egress['begin']>,
  ): Promise<RunEnd> {
    const { signal } = this.#stopping
    const { checksum, fault } = order
    let isWhole = false
    try {
      if (after !== 0) await transfer.start(this.#job(order, after, count.reached))
      if (fault?.type === 'stall') await aborted(signal)
      if (signal.aborted) return { type: 'stopped' }
      isWhole = this.#bytes >= this.#total
      return fault === undefined ? { type: 'completed' } : endOf(fault, checksum)
    } catch (error) {
      if (signal.aborted) return { type: 'stopped' }
      const message = error instanceof ImportFailure ? error.message : `Unable to process data: ${String(error)}`
      return { type: 'error', message, hidden: false }
    } finally {
      count.end(isWhole)
    }
  }

  #job({ url, sourceType, checksum }: ImportOrder, after: FaultMoment, reached: (bytes: number) => void): TransferJob {
    return {
      url,
      sourceType,
      ...(checksum !== undefined && { checksum }),
      ...(after !== 'end' && { stopAfterBytes: after }),
      onProgress: (bytes, total) => {
        this.#bytes = bytes
        this.#total = total
        reached(bytes)
      },
      signal: this.#stopping.signal,
    }
  }
}

function endOf(fault: RunFault, checksum: string | undefined): RunEnd {
  switch (fault.type) {
    case 'error':
      return { type: 'error', message: fault.message ?? TRUNCATED_TEXT, hidden: fault.hidden ?? false }
    case 'checksumMismatch':
      return { type: 'error', message: checksumText(checksum ?? 'sha256:expected', 'sha256:actual'), hidden: false }
    case 'stall':
      return { type: 'stopped' }
    default:
      return { type: fault.type }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
