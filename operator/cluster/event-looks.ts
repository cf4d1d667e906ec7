import { listAll } from '../kube/list-all.ts'
import { EVENT } from '../kube/resource-types.ts'
import { LookLoop, type LookLoopOptions } from '../runtime/look-loop.ts'
import type { Wake } from '../runtime/wake.ts'
import { type PodEvent, viewPodEvent } from './pod-events.ts'

const LOOK_EVERY_MS = 30_000
/** However many are waited for. */
const APART_MS = 1_000

export interface EventLooksOptions extends LookLoopOptions {
  /** In logs and metrics. */
  readonly name: string
  /** So long there is nothing to ask for. */
  readonly patienceMs: number
  /** Of the Events about one object, as a field selector beside its uid: `type=Warning`. */
  readonly which: string
  /** Of so many Events at most. */
  readonly eventsMax: number
  /** What they say; undefined: nothing that is worth telling. */
  readonly read: (events: readonly PodEvent[], now: number) => string | undefined
}

/** An object that something is waited for from. */
export interface Waiting {
  /** `<namespace>/<name>` of the Open Terrain object that waits. */
  readonly key: string
  readonly namespace: string
  /** Of the object that Events are about. */
  readonly uid: string
  /** It was waited for before this process knew of it, so it is looked at soon. */
  readonly hasHung?: boolean
}

export interface Told {
  readonly text: string | undefined
  /** Whether this process has looked, or tried to. */
  readonly isLookedAt: boolean
}

interface Noted extends Waiting {
  readonly since: number
  lookedAt: number
  told: Told
}

/**
 * Looks live for what Events alone tell of objects that hang. A look is one short list of the Events about one object, for one after the other, and only as
 * long as it hangs: no watch, and nothing at all while all goes well.
 */
export class EventLooks extends LookLoop {
  readonly #options: EventLooksOptions
  readonly #noted = new Map<string, Noted>()
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(options: EventLooksOptions) {
    super(options, options.name, (id, signal) => this.#look(id, signal))
    this.#options = options
  }

  /** Notes that an object hangs. Returns what was found about it. @param id of what is waited for: another object of the same id takes its place */
  note(id: string, waiting: Waiting): Told {
    const known = this.#noted.get(id)
    if (known?.uid === waiting.uid) return known.told
    const { clock, patienceMs } = this.#options
    const waitMs = waiting.hasHung ? 0 : patienceMs
    const told = { text: undefined, isLookedAt: false }
    const since = clock.monotonic() + waitMs - patienceMs
    this.#noted.set(id, { ...waiting, since, lookedAt: Number.NEGATIVE_INFINITY, told })
    this.lookAfter(id, waitMs)
    return told
  }

  /** It hangs no more, or is gone. */
  drop(id: string): void {
    this.#noted.delete(id)
  }

  /** All ids that are noted for an Open Terrain object. */
  idsOf(key: string): readonly string[] {
    return [...this.#noted].flatMap(([id, noted]) => (noted.key === key ? [id] : []))
  }

  async #look(id: string, signal: AbortSignal): Promise<Wake | undefined> {
    const { client, clock, onNews, patienceMs, which, eventsMax, read } = this.#options
    const noted = this.#noted.get(id)
    if (noted === undefined) return undefined
    const now = clock.monotonic()
    const { since, lookedAt, namespace, uid } = noted
    const leftMs = Math.max(since + patienceMs, lookedAt + LOOK_EVERY_MS, this.#lookedAt + APART_MS) - now
    if (leftMs > 0) return { afterMs: leftMs, because: 'the next look is due then' }
    // Before the request: one that fails counts as well.
    noted.lookedAt = now
    this.#lookedAt = now
    const { told } = noted
    noted.told = { ...told, isLookedAt: true }
    const events: PodEvent[] = []
    try {
      const fieldSelector = `involvedObject.uid=${uid},${which}`
      for await (const event of listAll(client, EVENT, { namespace, fieldSelector, signal, project: viewPodEvent })) {
        events.push(event)
        if (events.length >= eventsMax) break
      }
      noted.told = { text: read(events, clock.now()), isLookedAt: true }
    } finally {
      const isAwaited = noted.hasHung === true && !told.isLookedAt
      if (isAwaited || noted.told.text !== told.text) onNews(noted.key)
    }
    return { afterMs: LOOK_EVERY_MS, because: 'it may say something else by then' }
  }
}
