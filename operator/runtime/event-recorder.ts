import { sleep } from '../base/clock.ts'
import { redactUrls } from '../base/messages.ts'
import { toTime } from '../base/time.ts'
import { isApiError } from '../kube/api-error.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { EVENT } from '../kube/resource-types.ts'
import type { Basics } from './basics.ts'
import { KeyRateLimiter } from './key-rate-limiter.ts'

export interface EventNote {
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  readonly message: string
}

export interface EventRecorderOptions extends Basics {
  /** The source component of the Event, and its `reportingComponent`. */
  readonly component: string
  readonly instance: string
}

interface Written {
  readonly name: string
  readonly namespace: string
  count: number
  lastAt: number
}

/** The same note again within this time only increments the count of its Event. */
const SAME_EVENT_MS = 10 * 60_000
/** Per object: this many at once, then one every {@link REFILL_MS}. */
const BURST = 20
const REFILL_MS = 60_000
const REMEMBERED = 4_096
const BACKLOG = 1_000

/** Events for `kubectl describe`, written one at a time off the critical path. Best effort: an error, or too many of one object, loses some. */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #written = new Map<string, Written>()
  readonly #rateLimiter = new KeyRateLimiter(BURST, REFILL_MS)
  readonly #backlog: (() => Promise<void>)[] = []
  #draining: Promise<void> | undefined

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  /**
   * @param alsoIn a namespace in which people who cannot read the Events of the subject read this one. Only for a subject that is in no namespace,
   * as the API server takes no Event of another namespace than that of its object.
   */
  record(subject: KubeObject, note: EventNote, alsoIn?: string): void {
    const { name, uid = name } = subject.metadata
    const now = this.#options.clock.monotonic()
    if (this.#backlog.length >= BACKLOG || this.#rateLimiter.waitMs(uid, now) > 0) return
    this.#rateLimiter.take(uid, now)
    const { type, reason, message } = note
    for (const namespace of [subject.metadata.namespace, ...(alsoIn === undefined ? [] : [alsoIn])])
      this.#backlog.push(() => this.#write(subject, namespace, { type, reason, message: redactUrls(message) }))
    this.#draining ??= this.#drain()
  }

  /** Resolves when all recorded Events are written or lost, or after `patienceMs`. */
  async flush(patienceMs: number): Promise<void> {
    if (this.#draining !== undefined) await Promise.race([this.#draining, sleep(this.#options.clock, patienceMs)])
  }

  async #drain(): Promise<void> {
    for (let next = this.#backlog.shift(); next !== undefined; next = this.#backlog.shift()) {
      try {
        await next()
      } catch (error) {
        this.#options.log.debug({ error: String(error) }, 'an Event could not be written')
      }
    }
    // Not in a later microtask: an Event that is recorded before it would wait for the next one.
    this.#draining = undefined
  }

  async #write(subject: KubeObject, namespace: string | undefined, note: EventNote): Promise<void> {
    const { client, clock } = this.#options
    const now = clock.now()
    const identity = [subject.metadata.uid, namespace, note.type, note.reason, note.message].join('\n')
    const before = this.#written.get(identity)
    if (before !== undefined && now - before.lastAt < SAME_EVENT_MS) {
      before.count += 1
      before.lastAt = now
      try {
        await client.mergePatch(EVENT, before, { count: before.count, lastTimestamp: toTime(now) })
        return
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error
      }
    }
    const event = this.#event(subject, namespace, note, now)
    await client.create(EVENT, event)
    this.#written.delete(identity)
    this.#written.set(identity, { ...event.metadata, count: 1, lastAt: now })
    this.#forgetOld(now)
  }

  #event(subject: KubeObject, namespace: string | undefined, note: EventNote, now: number) {
    const { component, instance, random } = this.#options
    const { name, uid, resourceVersion } = subject.metadata
    const suffix = Math.floor(random() * 2 ** 48).toString(16)
    const time = toTime(now)
    return {
      apiVersion: 'v1',
      kind: 'Event',
      // Events about cluster-scoped objects are in this namespace.
      metadata: { name: `${name.slice(0, 200)}.${suffix.padStart(12, '0')}`, namespace: namespace ?? 'default' },
      involvedObject: { apiVersion: subject.apiVersion, kind: subject.kind, name, namespace, uid, resourceVersion },
      ...note,
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    }
  }

  /** The oldest come first. */
  #forgetOld(now: number): void {
    for (const [identity, { lastAt }] of this.#written) {
      if (this.#written.size <= REMEMBERED && now - lastAt < SAME_EVENT_MS) break
      this.#written.delete(identity)
    }
  }
}
