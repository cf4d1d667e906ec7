import { getHeapStatistics } from 'node:v8'

/** Share of the heap for the large parts of objects in caches. Everything else that is kept of an object is small. */
const HEAP_SHARE = 1 / 8

/** Returns the bytes for large parts of objects, by the heap that this process may have, which follows from the memory limit of its container. */
export function largePartsMax(): number {
  return Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE)
}

interface Holding {
  readonly bytes: number
  readonly part: WeakRef<object>
}

/** How much all caches together hold of the large parts of objects. What finds no room is not kept, and is read when it is needed. */
export class CacheBudget {
  readonly max: number
  readonly #held = new Map<string, Holding>()
  #bytes = 0

  constructor(max = Number.POSITIVE_INFINITY) {
    this.max = max
  }

  /** @param id `<group>/<Kind> <namespace>/<name>`. Reports whether there is room for a large part of an object, in place of the one that it had before. If so, that room is taken. */
  take(id: string, part: object, bytes: number): boolean {
    this.release(id)
    // A list that was not completed, or an event that came too late, leaves parts behind that no cache has.
    if (this.#bytes + bytes > this.max) this.#sweep()
    if (this.#bytes + bytes > this.max) return false
    this.#held.set(id, { bytes, part: new WeakRef(part) })
    this.#bytes += bytes
    return true
  }

  release(id: string): void {
    const holding = this.#held.get(id)
    if (holding === undefined) return
    this.#held.delete(id)
    this.#bytes -= holding.bytes
  }

  /** By `<group>/<Kind>`. */
  bytesByKind(): ReadonlyMap<string, number> {
    const found = new Map<string, number>()
    for (const [id, { bytes }] of this.#held) {
      const [kind = ''] = id.split(' ', 1)
      found.set(kind, (found.get(kind) ?? 0) + bytes)
    }
    return found
  }

  #sweep(): void {
    for (const [id, { part }] of this.#held) if (part.deref() === undefined) this.release(id)
  }
}
