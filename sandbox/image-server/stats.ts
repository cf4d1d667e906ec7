/** Download statistics of one image. */
export interface ImageStats {
  readonly requests: number
  readonly bytesSent: number
  /** Downloads that got every byte. */
  readonly completed: number
  readonly open: number
  readonly maxOpen: number
}

export interface ServerStats extends ImageStats {
  /** By host and path. Query strings are never recorded, because they can contain credentials. */
  readonly images: Readonly<Record<string, ImageStats>>
}

type Counts = { -readonly [K in keyof ImageStats]: number }

const none = (): Counts => ({ requests: 0, bytesSent: 0, completed: 0, open: 0, maxOpen: 0 })

/** Counts downloads, per image and in total. */
export class StatsBook {
  #total = none()
  readonly #images = new Map<string, Counts>()

  /** Records the start of a request for an image. */
  open(image: string): { sent(bytes: number): void; close(isComplete: boolean): void } {
    const counts = [this.#total, this.#of(image)]
    for (const count of counts) {
      count.requests += 1
      count.open += 1
      count.maxOpen = Math.max(count.maxOpen, count.open)
    }
    let isOpen = true
    return {
      sent(bytes) {
        for (const count of counts) count.bytesSent += bytes
      },
      close(isComplete) {
        if (!isOpen) return
        isOpen = false
        for (const count of counts) {
          count.open -= 1
          if (isComplete) count.completed += 1
        }
      },
    }
  }

  of(image: string): ImageStats {
    return { ...(this.#images.get(image) ?? none()) }
  }

  all(): ServerStats {
    const images = Object.fromEntries([...this.#images].map(([image, counts]) => [image, { ...counts }]))
    return { ...this.#total, images }
  }

  #of(image: string): Counts {
    const known = this.#images.get(image)
    if (known !== undefined) return known
    const counts = none()
    this.#images.set(image, counts)
    return counts
  }
}
