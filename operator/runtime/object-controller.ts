import { type KubeObject, keyOf, namespaceOf, type ResourceType } from '../kube/kube-object.ts'
import { Controller } from './controller.ts'
import { type ChildType, type ObjectPlan, type PlanCaches, PlanWriter, type Removal } from './plan-writer.ts'
import { type LiveLooks, Preconditions } from './preconditions.ts'
import type { Refusals } from './refusals.ts'
import type { Services } from './services.ts'
import { sooner, type Wake } from './wake.ts'
import { WorkQueue } from './work-queue.ts'

const WORKERS = 8

/** Whether a status is written now, and when to look again where it is not. */
export interface StatusPace {
  readonly isStatusDue: boolean
  readonly wake?: Wake | undefined
}

/**
 * What is particular about a kind of objects: everything else that a controller does is the same for all of them.
 * @typeParam P the object, as its cache has it
 * @typeParam T what {@link ObjectKind.prepare} finds out; undefined for a kind without it
 */
export interface ObjectKind<P extends KubeObject, R extends Removal, L extends ObjectPlan<R>, T> {
  readonly type: ResourceType
  /** Undefined: this kind has none. */
  readonly finalizer?: string
  /** By kind. */
  readonly children: Readonly<Record<R['kind'], ChildType>>
  readonly store: { readonly get: (key: string) => P | undefined }
  /** Objects of one group come in the order in which they want to be looked at, and groups take turns. Default: namespaces. */
  readonly groupOf?: (key: string) => string
  /** What a plan needs beside the caches, and may take a request. Throws ApiError. */
  readonly prepare?: (primary: P, signal: AbortSignal) => Promise<T>
  /** Observes and decides. Undefined: nothing is known yet, and somebody will tell when it is. */
  readonly plan: (primary: P, prepared: T) => L | undefined
  /** For the preconditions of its plans. */
  readonly looks?: LiveLooks<P>
  /** @param sinceWriteMs since the last write of a status by this process; undefined where there was none */
  readonly pace: (primary: P, plan: L, sinceWriteMs: number | undefined) => StatusPace
  /** What the log says of a change of state beside phase, reason and message. */
  readonly factsBetween: (before: P, status: object) => Readonly<Record<string, unknown>>
  /** A plan is about to be carried out; what is returned is called when that is over, however it ends. */
  readonly onBegin?: (primary: P) => () => void
  /** Given where a status tells what the API server refuses: an object is looked at again when that is news. */
  readonly refusals?: Refusals
  /** A child was deleted, or the object itself. */
  readonly onRemoved?: (primary: P, removal: R) => void
  /** A reconcile threw; it is repeated in any case. */
  readonly onError?: (primary: P, error: unknown) => void
}

/** The controller of one kind, for as long as this process leads: a key becomes observe, plan, apply. */
export class ObjectController<P extends KubeObject, R extends Removal, L extends ObjectPlan<R>, T> {
  readonly queue: WorkQueue
  readonly #services: Services
  readonly #kind: ObjectKind<P, R, L, T>
  readonly #preconditions: Preconditions<P>
  readonly #writer: PlanWriter<P, R>

  constructor(services: Services, caches: PlanCaches, kind: ObjectKind<P, R, L, T>) {
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
      onError: (key, error) => {
        const primary = this.#kind.store.get(key)
        if (primary !== undefined) this.#onError(primary, error)
      },
      workers: WORKERS,
      metrics: runtimeMetrics.forController(name),
    })
    await controller.run(signal)
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

  #onError(primary: P, error: unknown): void {
    const { refusals, onError } = this.#kind
    const { metadata } = primary
    if (refusals?.note(metadata.uid ?? '', error)) this.queue.add(keyOf(metadata))
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
    const { pace, refusals } = this.#kind
    const unmet = await this.#preconditions.unmet(primary, plan.onlyIf, signal)
    if (unmet !== undefined) return unmet
    const { isStatusDue, wake } = pace(primary, plan, this.#writer.sinceStatusWriteMs(primary.metadata.uid ?? ''))
    await this.#writer.write(primary, plan, isStatusDue, signal)
    if (refusals?.clear(primary.metadata.uid ?? '')) this.queue.add(keyOf(primary.metadata))
    return wake === undefined ? plan.wake : sooner(plan.wake, wake)
  }
}
