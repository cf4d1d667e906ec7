/** One download by one importer container. */
export interface TransferJob {
  readonly url: string
  /** The member of the DataVolume's `spec.source`: http, s3, gcs, registry. */
  readonly sourceType: string
  /** `algorithm:hex`, checked over the whole content. */
  readonly checksum?: string
  /** Stop after this many bytes as if complete: a scripted fault then strikes. */
  readonly stopAfterBytes?: number
  /** Called with the bytes so far and the total. */
  readonly onProgress: (bytes: number, total: number) => void
  readonly signal: AbortSignal
}

/**
 * Downloads an image, always from byte 0. Settles only when no more data can move: the connection is closed. Rejects
 * with {@link ImportFailure} for an error that the importer reports, otherwise with the signal's reason.
 */
export interface Transfer {
  start(job: TransferJob): Promise<{ readonly bytes: number }>
}

/** An error that the importer reports. */
export class ImportFailure extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ImportFailure'
  }
}

/** Returns a URL without user and query, which can contain credentials. For counters and messages. */
export function publicUrl(url: string): string {
  return url.replace(/[?#].*$/, '').replace(/^([a-z0-9+.-]+:\/\/)[^/@]*@/i, '$1')
}
