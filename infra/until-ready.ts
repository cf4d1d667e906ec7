import { setTimeout as sleep } from 'node:timers/promises'
import { formatDuration } from '@open-terrain/constructs/infra'
import type { Manifest } from '@open-terrain/constructs/platform'
import { RunError } from '@pulumi/pulumi'
import type { ObjectReader } from './object-reader.ts'
import { type Outcome, outcomeOf, type StoredObject, titleOf } from './settled.ts'

/** An object that Pulumi has applied. */
export interface AppliedObject {
  readonly manifest: Manifest
  readonly uid: string
}

export interface ReadinessWait {
  readonly reader: Pick<ObjectReader, 'server' | 'read'>
  /** Name of the component, for messages. */
  readonly component: string
  /** Longest wait for all of them, in milliseconds. */
  readonly timeoutMs: number
  /** Ends the wait with its reason. */
  readonly signal: AbortSignal
  /** Receives what is waited for, each time that it changes. */
  readonly report?: (text: string) => void
  readonly clock?: WaitClock
}

export interface WaitClock {
  /** Milliseconds since any fixed moment. */
  now(): number
  /** Ends early when `signal` is aborted. Never throws. */
  pause(ms: number, signal: AbortSignal): Promise<void>
}

const REAL_CLOCK: WaitClock = {
  now: () => performance.now(),
  // Only the signal ends it early, which is looked at next.
  pause: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
}

/** Looks are this far apart at first, and later the longer one: downloads take minutes or hours. */
const [POLL_MS, LATER_POLL_MS] = [1_000, 5_000]
const LOOKS_AT_ONCE = 8
/**
 * A failure counts when it is still there so much later: what it came from, such as an image or a Secret, may have been mended in the same update,
 * and the operator needs a moment to see that.
 */
const FAILURE_HOLDS_MS = 5_000
/** API servers are restarted, and credentials renewed, within this time. */
const UNREADABLE_MS = 5 * 60_000
/** Objects that a message tells of. */
const TOLD = 5

/**
 * Resolves when the operator says that each object is Ready with its present spec. Throws a RunError as soon as one has failed, is not the object
 * that Pulumi applied, or cannot be read for minutes. When the time is over, the message has what each object says that it waits for.
 */
export async function untilReady(applied: readonly AppliedObject[], wait: ReadinessWait): Promise<void> {
  const { clock = REAL_CLOCK, signal, timeoutMs, component, report } = wait
  const begin = clock.now()
  const all = applied.map((one) => new AwaitedObject(one))
  let told = ''
  for (;;) {
    await lookAt(all, wait, clock)
    const left = all.filter(({ isReady }) => !isReady)
    const failures = left.flatMap((one) => one.failureAt(clock.now()) ?? [])
    if (failures.length > 0) throw new RunError(firstOf(failures))
    if (left.length === 0) return
    const states = left.map(({ state }) => state)
    const elapsed = clock.now() - begin
    if (elapsed >= timeoutMs) {
      const head = `${component}: ${left.length} of ${all.length} objects are not ready after ${formatDuration(timeoutMs)}`
      throw new RunError(`${head}\n${firstOf(states)}`)
    }
    const text = `${left.length} of ${all.length} objects are not ready yet: ${states[0]}`
    if (text !== told) report?.(text)
    told = text
    await clock.pause(Math.min(pauseAfter(elapsed), timeoutMs - elapsed), signal)
    signal.throwIfAborted()
  }
}

function pauseAfter(elapsedMs: number): number {
  return Math.min(Math.max(elapsedMs / 20, POLL_MS), LATER_POLL_MS)
}

async function lookAt(all: readonly AwaitedObject[], { reader, component }: ReadinessWait, clock: WaitClock) {
  const queue = all.filter(({ isReady }) => !isReady).values()
  const looks = async () => {
    for (const one of queue) await one.look(reader, component, clock)
  }
  await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, looks))
}

function firstOf(sentences: readonly string[]): string {
  const more = sentences.length - TOLD
  return [...sentences.slice(0, TOLD), ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

/** What was seen of one object. */
class AwaitedObject {
  readonly #applied: AppliedObject
  #outcome: Outcome = { kind: 'waiting', why: 'it was not read yet' }
  #failedSince: number | undefined
  /** The end of the wait, which nothing mends. */
  #lost: string | undefined
  /** Error of the last look, and since when there are only errors. */
  #unread: { readonly since: number; readonly why: string } | undefined

  constructor(applied: AppliedObject) {
    this.#applied = applied
  }

  get isReady(): boolean {
    return this.#outcome.kind === 'ready'
  }

  /** One sentence for people. */
  get state(): string {
    const title = titleOf(this.#applied.manifest)
    if (this.#unread !== undefined) return `${title} cannot be read: ${this.#unread.why}`
    if (this.#outcome.kind === 'ready') return `${title} is ready`
    return this.#outcome.kind === 'failed'
      ? `${title} has failed: ${this.#outcome.why}`
      : `${title}: ${this.#outcome.why}`
  }

  /** Returns why the wait must end now, as a sentence. */
  failureAt(now: number): string | undefined {
    if (this.#lost !== undefined) return this.#lost
    if (this.#unread !== undefined)
      return now - this.#unread.since >= UNREADABLE_MS
        ? `${this.state} (for ${formatDuration(UNREADABLE_MS)})`
        : undefined
    if (this.#failedSince === undefined || now - this.#failedSince < FAILURE_HOLDS_MS) return undefined
    return `${this.state} (after you fix it, run: pulumi up)`
  }

  async look(reader: ReadinessWait['reader'], component: string, clock: WaitClock): Promise<void> {
    let stored: StoredObject | undefined
    try {
      stored = await reader.read(this.#applied.manifest)
    } catch (error) {
      this.#unread = { since: this.#unread?.since ?? clock.now(), why: (error as Error).message }
      return
    }
    this.#unread = undefined
    if (stored?.metadata.uid !== this.#applied.uid) {
      const title = titleOf(this.#applied.manifest)
      this.#lost = `${title} of ${reader.server} is not the one that Pulumi applied: it was deleted meanwhile, or the provider uses another cluster, and then ${component} needs the provider's kubeconfig and context too`
      return
    }
    this.#outcome = outcomeOf(stored)
    this.#failedSince = this.#outcome.kind === 'failed' ? (this.#failedSince ?? clock.now()) : undefined
  }
}
