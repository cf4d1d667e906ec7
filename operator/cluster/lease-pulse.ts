import { isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { ObjectKey, Raw } from '../kube/kube-object.ts'
import { LEASE } from '../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from '../runtime/live-read-loop.ts'
import type { Requeue } from '../runtime/requeue.ts'
import type { Presence } from './neighbour-facts.ts'

const READ_EVERY_MS = 10_000
/** While nothing waits. Often enough for an alert that has to hold for minutes. */
const IDLE_LOOK_EVERY_MS = 60_000
/** By how much these are earlier or later, so that those of several Leases, and clusters, do not come together. */
const JITTER = 0.1
/** Polling stops if no caller asks for this long. Callers ask again within half of it. */
const LISTEN_MS = 60_000
/** Twice as long as another controller needs to become the leader. */
const SILENT_MS = 30_000
const KEY = 'lease'

export interface LeasePulseOptions extends LiveReadServices {
  /** In logs and metrics. */
  readonly name: string
  /** A Lease of the same name in another namespace belongs to someone else and is ignored. */
  readonly lease: ObjectKey
  /** Whether anything waits for the controller, apart from callers that ask again and again. */
  readonly isAwaited?: () => boolean
  /** Called when the presence has changed. */
  readonly onChange?: () => void
}

/**
 * Reports whether a controller works, based on its Lease. While the controller is down, what it reported last does not change. The same is seen when
 * the work itself makes no progress. Each poll is one request. While nothing waits, there is one a minute: it tells only whether the controller is missed.
 */
export class LeasePulse extends LiveReadLoop {
  readonly #options: LeasePulseOptions
  /** Monotonic time when a caller last asked; undefined while no caller asks. */
  #askedAt: number | undefined
  #readAt = 0
  #heardAt = 0
  /** Whether a renewal was observed since callers ask. */
  #isHeard = false
  /** renewTime of the Lease; undefined before the first poll, empty if there is no Lease. */
  #beat: string | undefined
  #awayAt: number | undefined
  #isMissed = false

  constructor(options: LeasePulseOptions) {
    super(options, options.name, async (_key, signal) => await this.#probe(signal))
    this.#options = options
  }

  override async run(signal: AbortSignal): Promise<void> {
    this.readAfter(KEY, IDLE_LOOK_EVERY_MS * this.#options.random())
    await super.run(signal)
  }

  /** Returns the monotonic time until which the controller is known to have worked. The caller asks because something makes no progress. */
  workedUntil(): number {
    const now = this.#options.clock.monotonic()
    if (this.#askedAt === undefined) {
      this.#heardAt = now
      this.#readAt = now
      this.#isHeard = false
      this.#beat = undefined
      this.readAfter(KEY, 0)
    }
    this.#askedAt = now
    return this.#beat === '' ? now : this.#heardAt
  }

  /** Whether the Lease was polled and has not been renewed for a while. */
  get isSilent(): boolean {
    return this.#askedAt !== undefined && Boolean(this.#beat) && this.#readAt - this.#heardAt >= SILENT_MS
  }

  /** Whether the Lease was not renewed for a while when it was last read, whether or not anybody waits. For metrics. */
  get isMissed(): boolean {
    return this.#isMissed
  }

  get presence(): Presence {
    if (this.isSilent) return 'away'
    if (this.#askedAt === undefined || this.#beat === undefined) return 'unsure'
    if (this.#beat === '') return 'unknown'
    return this.#isHeard ? 'works' : 'unsure'
  }

  /** The monotonic time when the controller was last found to be away; undefined if it never was. */
  get awayAt(): number | undefined {
    return this.#awayAt
  }

  async #probe(signal: AbortSignal): Promise<Requeue | undefined> {
    const { clock, isAwaited, onChange } = this.#options
    const isDue = isAwaited?.() === true
    if (this.#askedAt !== undefined && !isDue && clock.monotonic() - this.#askedAt >= LISTEN_MS)
      this.#askedAt = undefined
    const before = this.presence
    this.#note(await this.#read(signal))
    if (this.presence !== before) onChange?.()
    return this.#next()
  }

  /** @param beat renewTime of the Lease; empty if there is none */
  #note(beat: string): void {
    const last = this.#beat
    const isRenewed = last !== undefined && beat !== '' && beat !== last
    this.#readAt = this.#options.clock.monotonic()
    this.#beat = beat
    if (isRenewed) this.#isHeard = true
    // Nobody has asked: what happened before is not known.
    if (isRenewed || (last === undefined && this.#askedAt === undefined)) this.#heardAt = this.#readAt
    if (this.isSilent) this.#awayAt = this.#readAt
    if (isRenewed || beat === '') this.#isMissed = false
    else if (this.#readAt - this.#heardAt >= SILENT_MS) this.#isMissed = true
  }

  #next(): Requeue {
    const because = 'the Lease should have been renewed by then'
    if (this.#askedAt !== undefined) return { afterMs: READ_EVERY_MS, because }
    const spread = 1 + JITTER * (2 * this.#options.random() - 1)
    return { afterMs: IDLE_LOOK_EVERY_MS * spread, because }
  }

  async #read(signal: AbortSignal): Promise<string> {
    const { client, lease: key } = this.#options
    try {
      const lease: Raw = await find(client, LEASE, key, { signal })
      return String(lease?.spec?.renewTime ?? '').slice(0, 100)
    } catch (error) {
      // The access rights are those of an earlier installation. It is unknown whether the controller works, as without a Lease.
      if (isApiError(error, 'Rejected')) return ''
      throw error
    }
  }
}
