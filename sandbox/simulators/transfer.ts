/** One download by one importer container. */
export interface TransferJob {
  readonly url: string
  /** The member of the DataVolume's `spec.source`: http, s3, gcs, registry. */
  readonly sourceType: string
  /** `algorithm:hex`, checked over the whole content. */
  readonly checksum?: string
  /** Stop, as if complete, after so many bytes: a scripted fault strikes then. */
  readonly stopAfterBytes?: number
  /** Bytes so far, and of how many. */
  readonly onProgress: (bytes: number, total: number) => void
  readonly signal: AbortSignal
}

/**
 * Moves the bytes of an image. A download always starts at byte 0. It settles only when nothing can move any more: the
 * connection is closed. Rejects with {@link ImportFailure} for what the importer would say, else with the signal's reason.
 */
export interface Transfer {
  start(job: TransferJob): Promise<{ readonly bytes: number }>
}

/** The importer's last words. */
export class ImportFailure extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ImportFailure'
  }
}

/** A URL without what may hold credentials: user and query. For counters and messages. */
export function publicUrl(url: string): string {
  return url.replace(/[?#].*$/, '').replace(/^([a-z0-9+.-]+:\/\/)[^/@]*@/i, '$1')
}
