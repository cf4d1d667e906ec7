import { redactUrls } from '../base/messages.ts'
import { listAll } from '../kube/list-all.ts'
import { EVENT } from '../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadLoopOptions } from '../runtime/live-read-loop.ts'
import type { Requeue } from '../runtime/requeue.ts'
import { originalMessage } from './claim-message.ts'
import { type PodEvent, viewPodEvent } from './pod-events.ts'

const READ_EVERY_MS = 30_000
/** Minimum time between two lists, regardless of the number of objects. */
const APART_MS = 1_000

interface EventReadsOptions extends LiveReadLoopOptions {
  /** Name in logs and metrics. */
  readonly name: string
  /** How long an object may wait before its Events are listed. */
  readonly patienceMs: number
  /** Field selector for the Events about an object, in addition to its uid: `type=Warning`. */
  readonly which: string
  /** Maximum number of Events to read. */
  readonly eventsMax: number
  /** Returns the text to report for the Events; undefined if there is none. */
  readonly read: (events: readonly PodEvent[], now: number) => string | undefined
}

/** An object that an Open Terrain object waits for. */
export interface Waiting {
  /** `<namespace>/<name>` of the Open Terrain object that waits. */
  readonly key: string
  readonly namespace: string
  /** Uid of the object that the Events are about. */
  readonly uid: string
  /** It was waited for before this process knew of it, so its Events are listed soon. */
  readonly hasHung?: boolean
}

interface EventText {
  readonly text: string | undefined
  /** Whether this process has listed the Events, or tried to. */
  readonly isRead: boolean
}

interface Noted extends Waiting {
  readonly since: number
  readAt: number
  found: EventText
}

/**
 * Finds by live reads what only Events report about objects that hang. Each look is one short list of the Events about one object, one object at a
 * time, and only while the object hangs. There is no watch, and no request at all while nothing hangs.
 */
export class EventReads extends LiveReadLoop {
  readonly #options: EventReadsOptions
  readonly #noted = new Map<string, Noted>()
  #readAt = Number.NEGATIVE_INFINITY

  constructor(options: EventReadsOptions) {
    super(options, options.name, (id, signal) => this.#read(id, signal))
    this.#options = options
  }

  /** Records that an object hangs. Returns what is known about it. @param id of what is waited for; a new object with the same id replaces the old */
  note(id: string, waiting: Waiting): EventText {
    const known = this.#noted.get(id)
    if (known?.uid === waiting.uid) return known.found
    const { clock, patienceMs } = this.#options
    const waitMs = waiting.hasHung ? 0 : patienceMs
    const found = { text: undefined, isRead: false }
    const since = clock.monotonic() + waitMs - patienceMs
    this.#noted.set(id, { ...waiting, since, readAt: Number.NEGATIVE_INFINITY, found })
    this.readAfter(id, waitMs)
    return found
  }

  /** The object does not hang any more, or is gone. */
  drop(id: string): void {
    this.#noted.delete(id)
  }

  /** Returns all ids that are noted for an Open Terrain object. */
  idsOf(key: string): readonly string[] {
    return [...this.#noted].flatMap(([id, noted]) => (noted.key === key ? [id] : []))
  }

  async #read(id: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const { client, clock, onChange, patienceMs, which, eventsMax, read } = this.#options
    const noted = this.#noted.get(id)
    if (noted === undefined) return undefined
    const now = clock.monotonic()
    const { since, readAt, namespace, uid } = noted
    const leftMs = Math.max(since + patienceMs, readAt + READ_EVERY_MS, this.#readAt + APART_MS) - now
    if (leftMs > 0) return { afterMs: leftMs, because: 'the next look is due then' }
    // Set before the request, because a failed request counts as well.
    noted.readAt = now
    this.#readAt = now
    const before = noted.found
    noted.found = { ...before, isRead: true }
    const events: PodEvent[] = []
    try {
      const fieldSelector = `involvedObject.uid=${uid},${which}`
      for await (const event of listAll(client, EVENT, { namespace, fieldSelector, signal, project: viewPodEvent })) {
        events.push(event)
        if (events.length >= eventsMax) break
      }
      noted.found = { text: read(events, clock.now()), isRead: true }
    } finally {
      const isAwaited = noted.hasHung === true && !before.isRead
      if (isAwaited || noted.found.text !== before.text) onChange(noted.key)
    }
    return { afterMs: READ_EVERY_MS, because: 'it may say something else by then' }
  }
}

/** Characters of a message of CDI that are reported. */
const REFUSAL_MAX = 1_000

/** Reasons of CDI for a prime claim, and for a claim for scratch space, that it cannot create. */
const REFUSALS: ReadonlySet<string> = new Set(['ErrCreatingPVCPrime', 'ErrExceededQuota'])

/**
 * Finds why CDI cannot create a claim for a download: the prime claim, which it fills instead of the target claim, or the one for scratch space. For
 * example, a quota may have room only for the others. CDI reports this only in an Event about the target. Noted are downloads for which CDI shows
 * nothing else, by uid of their images.
 */
export function claimRefusals(options: LiveReadLoopOptions): EventReads {
  return new EventReads({
    ...options,
    name: 'vmdiskimage-claim-refusals',
    // Normally, the importer pod exists sooner.
    patienceMs: 2_000,
    which: 'type=Warning',
    // CDI reports every attempt in the same Event.
    eventsMax: 50,
    read: (events) => {
      const last = events.findLast(({ reason = '' }) => REFUSALS.has(reason))
      return last && redactUrls(originalMessage(last.message ?? '').slice(0, REFUSAL_MAX))
    },
  })
}
