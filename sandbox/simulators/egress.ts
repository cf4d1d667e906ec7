import { publicUrl } from './transfer.ts'

export interface ImageEgress {
  /** Downloads that were started. */
  readonly attempts: number
  /** Downloads that got the whole image. */
  readonly downloads: number
  readonly bytes: number
}

/** Counts what importers download, from the start of each transfer until it can move no more data. */
export class Egress {
  #importing = 0
  #maxImporting = 0
  #bytes = 0
  readonly #images = new Map<string, { attempts: number; downloads: number; bytes: number }>()

  /** Number of transfers in flight. */
  get importing(): number {
    return this.#importing
  }

  /** Highest number of transfers that were in flight at once. */
  get maxImporting(): number {
    return this.#maxImporting
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns the counts of one image, by its URL without user and query. */
  image(url: string): ImageEgress {
    return { ...(this.#images.get(publicUrl(url)) ?? { attempts: 0, downloads: 0, bytes: 0 }) }
  }

  images(): Readonly<Record<string, ImageEgress>> {
    return Object.fromEntries([...this.#images].map(([url, counts]) => [url, { ...counts }]))
  }

  begin(url: string): { reached(bytes: number): void; end(isWhole: boolean): void } {
    const key = publicUrl(url)
    const counts = this.#images.get(key) ?? { attempts: 0, downloads: 0, bytes: 0 }
    this.#images.set(key, counts)
    counts.attempts += 1
    this.#importing += 1
    this.#maxImporting = Math.max(this.#maxImporting, this.#importing)
    let reached = 0
    return {
      reached: (bytes) => {
        counts.bytes += bytes - reached
        this.#bytes += bytes - reached
        reached = bytes
      },
      end: (isWhole) => {
        this.#importing -= 1
        if (isWhole) counts.downloads += 1
      },
    }
  }
}
