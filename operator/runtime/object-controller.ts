import { type KubeObject, keyOf, namespaceOf } from '../kube/kube-object.ts'
import { Controller } from './controller.ts'
import type { ObjectPlan } from './plan.ts'
import { type PlanCaches, PlanWriter, type WrittenKind } from './plan-writer.ts'
import { type LiveLooks, Preconditions } from './preconditions.ts'
import type { Refusals } from './refusals.ts'
import type { Services } from './services.ts'
import type { StatusPace } from './status-pace.ts'
import type { Readable } from './store.ts'
import { sooner, type Wake } from './wake.ts'
import { WorkQueue } from './work-queue.ts'

const WORKERS = 8

/**
 * What is particular about a kind of objects: everything else that a controller does is the same for all of them.
 * @typeParam P the object, as its cache has it
 * @typeParam T what {@link ObjectKind.prepare} finds out; undefined for a kind without it
 */
export interface ObjectKind<P extends KubeObject, L extends ObjectPlan, T> extends WrittenKind<P> {
  readonly store: Readable<P> & { keys(): Iterable<string>; values(): Iterable<P> }
  /** Objects of one group come in the order in which they want to be looked at, and groups take turns. Default: namespaces. */
  readonly groupOf?: (key: string) => string
  /**
   * Listens for what else than its own changes an object is looked at for, and returns how to stop that. A kind without it puts its objects into the queue by
   * itself, and calls {@link ObjectController.forget} for those that are gone.
   */
  readonly listen?: (queue: WorkQueue) => readonly (() => void)[]
  /** An object is gone. Only called where there is {@link ObjectKind.listen}. */
  readonly onGone?: (primary: P) => void
  /** What shows where the objects stand, as long as this serves. */
  readonly gauges?: { readFrom(objects: (() => Iterable<P>) | undefined): void }
  /** What runs beside it. */
  readonly loops?: readonly { run(signal: AbortSignal): Promise<void> }[]
  /** What a plan needs beside the caches, and may take a request. Throws ApiError. */
  readonly prepare?: (primary: P, signal: AbortSignal) => Promise<T>
  /** Observes and decides. Undefined: nothing is known yet, and somebody will tell when it is. */
  readonly plan: (primary: P, prepared: T) => L | undefined
  /** For the preconditions of its plans. */
  readonly looks?: LiveLooks<P>
  /** @param sinceWriteMs since the last write of a status by this process; undefined where there was none */
  readonly pace: (primary: P, plan: L, sinceWriteMs: number | undefined) => StatusPace
  /** A plan is about to be carried out; what is returned is called when that is over, however it ends. */
  readonly onBegin?: (primary: P) => () => void
  /** Given where a status tells what the API server refuses: an object is looked at again when that is news. */
  readonly refusals?: Refusals
  /** A reconcile threw; it is repeated in any case. */
  readonly onError?: (primary: P, error: unknown) => void
}

/**
 * The controller of one kind, for as long as this process leads: a key becomes observe, plan, apply. Beside that it listens for changes, runs the kind's loops,
 * shows its gauges, and forgets what is gone.
 */
export class ObjectController<P extends KubeObject, L extends ObjectPlan, T> {
  readonly queue: WorkQueue
  readonly #services: Services
  readonly #kind: ObjectKind<P, L, T>
  readonly #preconditions: Preconditions<P>
  readonly #writer: PlanWriter<P>

  constructor(services: Services, caches: PlanCaches, kind: ObjectKind<P, L, T>) {
    this.queue = new WorkQueue(services.clock, { groupOf: kind.groupOf ?? namespaceOf })
    this.#services = services
    this.#kind = kind
    this.#preconditions = new Preconditions(services.client, caches, kind.looks)
    this.#writer = new PlanWriter({ ...services, ...kind, caches, preconditions: this.#preconditions })
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#writer.forget(uid)
    this.#kind.refusals?.clear(uid)
    this.#kind.childRefusals?.forget(uid)
  }

  /** Serves until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtimeMetrics } = this.#services
    const name = this.#kind.type.kind.toLowerCase()
    const controller = new Controller({
      ...this.#services,
      name,
      queue: this.queue,
      reconcile: (key, stop) => this.#reconcile(key, stop),
      onError: (key, error) => this.#onError(key, error),
      workers: WORKERS,
      metrics: runtimeMetrics.forController(name),
    })
    const { store, gauges, loops = [] } = this.#kind
    const stops = this.#listen()
    gauges?.readFrom(() => store.values())
    try {
      await Promise.all([controller, ...loops].map((one) => one.run(signal)))
    } finally {
      for (const stop of stops) stop()
      gauges?.readFrom(undefined)
    }
  }

  #listen(): readonly (() => void)[] {
    const { store, listen, onGone } = this.#kind
    if (listen === undefined) return []
    for (const key of store.keys()) this.queue.add(key)
    const own = store.onChange(({ key, before, after }) => {
      this.queue.add(key)
      if (before === undefined || after !== undefined) return
      this.forget(before.metadata.uid ?? '')
      onGone?.(before)
    })
    return [own, ...listen(this.queue)]
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Wake | undefined> {
    const { store, prepare, onBegin } = this.#kind
    const seen = store.get(key)
    if (seen === undefined) return undefined
    const prepared = (await prepare?.(seen, signal)) as T
    // That takes its time: what was true before it may not be any more.
    const primary = store.get(key)
    if (primary === undefined) return undefined
    const plan = await this.#plan(primary, prepared, signal)
    if (plan === undefined) return undefined
    const end = onBegin?.(primary)
    try {
      return await this.#carryOut(primary, plan, signal)
    } finally {
      end?.()
    }
  }

  #onError(key: string, error: unknown): void {
    const { store, refusals, childRefusals, onError } = this.#kind
    const primary = store.get(key)
    if (primary === undefined) return
    const { uid = '' } = primary.metadata
    const isNews = refusals?.note(uid, error) === true
    if (childRefusals?.takeNews(uid) === true || isNews) this.queue.add(key)
    onError?.(primary, error)
  }

  async #plan(primary: P, prepared: T, signal: AbortSignal): Promise<L | undefined> {
    try {
      return this.#kind.plan(primary, prepared)
    } catch (error) {
      await this.#writer.tellBug(primary, error, signal)
      throw error
    }
  }

  async #carryOut(primary: P, plan: L, signal: AbortSignal): Promise<Wake | undefined> {
    const { pace, refusals, childRefusals } = this.#kind
    const { uid = '' } = primary.metadata
    const unmet = await this.#preconditions.unmet(primary, plan.onlyIf, signal)
    if (unmet !== undefined) return unmet
    const { isStatusDue, wake } = pace(primary, plan, this.#writer.sinceStatusWriteMs(uid))
    const held = await this.#writer.write(primary, plan, isStatusDue, signal)
    const wasRefused = refusals?.clear(uid) === true
    if (childRefusals?.takeNews(uid) === true || wasRefused) this.queue.add(keyOf(primary.metadata))
    return [wake, held, childRefusals?.wake(uid)].reduce(
      (first, one) => (one === undefined ? first : sooner(first, one)),
      plan.wake,
    )
  }
}
