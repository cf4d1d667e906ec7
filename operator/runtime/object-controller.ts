import { find } from '../kube/find.ts'
import { type KubeObject, keyOf, namespaceOf, objectKeyOf } from '../kube/kube-object.ts'
import { Controller } from './controller.ts'
import type { ObjectPlan } from './plan.ts'
import { type PlanCaches, PlanWriter, type WrittenKind } from './plan-writer.ts'
import { type LiveReads, Preconditions } from './preconditions.ts'
import type { Refusals } from './refusals.ts'
import { type Requeue, type StatusThrottle, sooner } from './requeue.ts'
import type { Services } from './services.ts'
import { DELETING, type KindStates, type ObjectState, type StatefulObject } from './state-gauges.ts'
import type { Readable, Store } from './store.ts'
import { WorkQueue } from './work-queue.ts'

const WORKERS = 8
/** How soon to try again to read an object that is too large for the caches, while another one is read and worked on. */
const LARGE_AGAIN_MS = 500

/** The kind-specific part of a controller. P: the object, as cached. T: the result of {@link ObjectKind.prepare}, if the kind has it. */
export interface ObjectKind<P extends KubeObject, L extends ObjectPlan, T> extends WrittenKind<P> {
  readonly store: Readable<P> & Pick<Store<P>, 'keys' | 'values'>
  /** Returns the group of a key. Groups take turns; within one, the order is that in which keys are due. Default: namespaces. */
  readonly groupOf?: (key: string) => string
  /** The same for urgent keys. Default: `groupOf`. */
  readonly urgentGroupOf?: (key: string) => string
  /** Listens for triggers other than the object itself. Returns what stops it. A kind without it queues and forgets its objects itself. */
  readonly listen?: (queue: WorkQueue) => readonly (() => void)[]
  /** Returns the whole of an object, to be planned from. Only where the caches may keep a part of an object aside. */
  readonly whole?: (object: KubeObject) => P
  /** Called when an object is gone. Only with {@link ObjectKind.listen}. */
  readonly onGone?: (primary: P) => void
  /** Metrics of the state of the objects, while the controller runs. */
  readonly gauges?: { readFrom(objects: (() => Iterable<P>) | undefined): void }
  /** What the gauges of the states need to know. */
  readonly states: KindStates<P>
  /** Run next to the controller. */
  readonly loops?: readonly { run(signal: AbortSignal): Promise<void> }[]
  /** Obtains what a plan needs in addition to the caches. May send requests. Throws ApiError. */
  readonly prepare?: (primary: P, signal: AbortSignal) => Promise<T>
  /** Observes and decides. Undefined: not enough is known yet, and a later trigger will requeue the object. */
  readonly plan: (primary: P, prepared: T) => L | undefined
  readonly reads?: LiveReads<P>
  /** @param sinceWriteMs since the last status write by this process; undefined if there was none */
  readonly throttle: (primary: P, plan: L, sinceWriteMs: number | undefined) => StatusThrottle
  /**
   * Called before a plan is executed, and before anything else is planned. The returned function is called when the plan was executed, with or
   * without an error.
   */
  readonly onBegin?: (primary: P, plan: L) => (() => void) | undefined
  /** Set if the status reports what the API server refuses. A new refusal, or the end of one, requeues the object. */
  readonly refusals?: Refusals
  /** Called when a reconcile failed. It is retried in any case. */
  readonly onError?: (primary: P, error: unknown) => void
}

/** As in the reasons of every kind. */
const REFUSED = 'Refused'

/** The controller of one kind, while this process leads. For each key it observes, plans and applies. */
export class ObjectController<P extends KubeObject, L extends ObjectPlan, T> {
  readonly queue: WorkQueue
  readonly #services: Services
  readonly #kind: ObjectKind<P, L, T>
  readonly #preconditions: Preconditions<P>
  readonly #writer: PlanWriter<P>
  #isLargeAtWork = false

  constructor(services: Services, caches: PlanCaches, kind: ObjectKind<P, L, T>) {
    const { groupOf = namespaceOf, urgentGroupOf } = kind
    this.queue = new WorkQueue(services.clock, { groupOf, urgentGroupOf })
    this.#services = services
    this.#kind = kind
    this.#preconditions = new Preconditions(services.client, caches, kind.reads)
    this.#writer = new PlanWriter({ ...services, ...kind, caches, preconditions: this.#preconditions })
  }

  forget(uid: string): void {
    this.#writer.forget(uid)
    this.#kind.refusals?.clear(uid)
    this.#kind.childRefusals?.forget(uid)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { type, store, gauges, loops = [] } = this.#kind
    const { clock, runtimeMetrics } = this.#services
    const name = type.kind.toLowerCase()
    const controller = new Controller({
      ...this.#services,
      name,
      queue: this.queue,
      reconcile: (key, stop) => this.#reconcile(key, stop),
      onError: (key, error) => this.#onError(key, error),
      workers: WORKERS,
      metrics: runtimeMetrics.forController(name),
    })
    const stops = [
      ...this.#listen(),
      runtimeMetrics.states.observe(type.kind, clock, () => store.values(), this.#states()),
    ]
    gauges?.readFrom(() => store.values())
    try {
      await Promise.all([controller, ...loops].map((one) => one.run(signal)))
    } finally {
      for (const stop of stops) stop()
      gauges?.readFrom(undefined)
    }
  }

  /** A status that cannot be written does not say that it is refused, so the gauges do. */
  #states(): KindStates<P> {
    const { states, refusals } = this.#kind
    const refused = ({ metadata, status }: StatefulObject): readonly ObjectState[] => {
      const since = refusals?.since(metadata.uid ?? '')
      if (since === undefined) return []
      const phase = metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Unknown') : DELETING
      return [{ phase, reason: REFUSED, since }]
    }
    return { ...states, more: (object, now) => [...(states.more?.(object, now) ?? []), ...refused(object)] }
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

  async #reconcile(key: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const { store, prepare } = this.#kind
    const seen = store.get(key)
    if (seen === undefined) return undefined
    if ((seen as { readonly isAside?: true }).isAside === true) return await this.#reconcileLarge(key, signal)
    const prepared = (await prepare?.(seen, signal)) as T
    // The preparation takes time, so the object may have changed.
    const primary = store.get(key)
    if (primary === undefined) return undefined
    // It was queued again when it grew.
    if ((primary as { readonly isAside?: true }).isAside === true) return undefined
    return await this.#planned(primary, prepared, signal)
  }

  /** Reads and reconciles an object that the caches have no room for. One at a time is in memory, and none keeps a worker waiting for that. */
  async #reconcileLarge(key: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const { type, whole, prepare } = this.#kind
    if (this.#isLargeAtWork) return { afterMs: LARGE_AGAIN_MS, because: 'another large object has been worked on' }
    this.#isLargeAtWork = true
    try {
      const found = await find(this.#services.client, type, objectKeyOf(key), { signal })
      const primary = found && whole?.(found)
      if (primary === undefined) return undefined
      return await this.#planned(primary, (await prepare?.(primary, signal)) as T, signal)
    } finally {
      this.#isLargeAtWork = false
    }
  }

  async #planned(primary: P, prepared: T, signal: AbortSignal): Promise<Requeue | undefined> {
    let plan: L | undefined
    try {
      plan = this.#kind.plan(primary, prepared)
    } catch (error) {
      await this.#writer.reportBug(primary, error, signal)
      throw error
    }
    if (plan === undefined) return undefined
    const end = this.#kind.onBegin?.(primary, plan)
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
    const isNew = refusals?.note(uid, error, this.#services.clock.now()) === true
    if (childRefusals?.takeChange(uid) === true || isNew) this.queue.add(key)
    onError?.(primary, error)
  }

  async #carryOut(primary: P, plan: L, signal: AbortSignal): Promise<Requeue | undefined> {
    const { throttle, refusals, childRefusals } = this.#kind
    const { uid = '' } = primary.metadata
    const unmet = await this.#preconditions.unmet(primary, plan.onlyIf, signal)
    if (unmet !== undefined) return unmet
    const { isStatusDue, requeue } = throttle(primary, plan, this.#writer.sinceStatusWriteMs(uid))
    const held = await this.#writer.write(primary, plan, isStatusDue, signal)
    const wasRefused = refusals?.clear(uid) === true
    if (childRefusals?.takeChange(uid) === true || wasRefused) this.queue.add(keyOf(primary.metadata))
    // A plan that releases the finalizer wants no children any more.
    const retry = plan.finalizer === 'release' ? undefined : childRefusals?.requeue(uid)
    return [requeue, held, retry].reduce((first, one) => (one === undefined ? first : sooner(first, one)), plan.requeue)
  }
}
