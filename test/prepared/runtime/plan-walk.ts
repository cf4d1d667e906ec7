import type { Policy } from '@open-terrain/constructs/operator'
import { toTime } from '../../../operator/base/time.ts'
import type { KubeObject, ObjectMeta } from '../../../operator/kube/kube-object.ts'
import type { FinalizerChange, ObjectPlan } from '../../../operator/runtime/plan.ts'
import type { Requeue } from '../../../operator/runtime/requeue.ts'
import { reasonOf } from '../../../operator/runtime/summary.ts'
import { expectShown } from './plan-laws.ts'
import { START } from './times.ts'

/** What is different about the object of a test's world. */
export interface ObjectOverrides<Status> {
  readonly metadata?: Partial<ObjectMeta>
  readonly status?: Status
  /** Merged into the default spec. Undefined members are left out. */
  readonly spec?: Readonly<Record<string, unknown>>
  readonly policy?: Partial<Policy>
}

/** Returns the head of an object of ours in namespace `team`, as it was created. */
export function ownObject(kind: string, metadata: Pick<ObjectMeta, 'name'> & Partial<ObjectMeta>) {
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind,
    metadata: { namespace: 'team', resourceVersion: '100', generation: 1, ...metadata },
  }
}

/** Returns the fields without undefined members. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

interface Subject extends KubeObject {
  readonly spec: unknown
  readonly status: Parameters<typeof reasonOf>[0] & { readonly phase?: string | undefined }
}

/** The common part of walks of all kinds: a world to which plans are applied, in the order that a controller uses. */
export abstract class PlanWalk<
  Key extends string,
  World extends { readonly policy: Policy } & Readonly<Record<Key, Subject>>,
  Plan extends Pick<ObjectPlan, 'finalizer'> & {
    readonly requeue?: Requeue | undefined
    readonly status: Parameters<typeof expectShown>[1]
  },
> {
  world: World
  now = START
  /** Every write, in order. */
  readonly log: string[] = []
  isGone = false
  readonly #key: Key
  readonly #finalizer: string
  #version = 400

  /** @param key the object of the world that the plans are about */
  constructor(key: Key, finalizer: string, world: World) {
    this.#key = key
    this.#finalizer = finalizer
    this.world = world
  }

  abstract plan(): Plan

  protected abstract carryOut(plan: Plan): void

  /** Plans once and executes the plan. Returns true if it wrote anything. */
  step(): boolean {
    const before = this.log.length
    const plan = this.plan()
    if (plan.finalizer !== 'release') expectShown(this.subject, plan.status)
    this.carryOut(plan)
    return this.log.length > before
  }

  /** `phase/reason`. */
  get stand(): string {
    return `${this.status.phase}/${reasonOf(this.status)}`
  }

  get subject(): World[Key] {
    return this.world[this.#key]
  }

  get status(): World[Key]['status'] {
    return this.subject.status
  }

  /** Changes the object, as the API server stores it. */
  change(change: Partial<World[Key]>): this {
    const { metadata, ...rest } = { ...this.subject, ...change }
    this.#version += 1
    const changed = { ...rest, metadata: { ...metadata, resourceVersion: String(this.#version) } }
    return this.set({ [this.#key]: changed } as object as Partial<World>)
  }

  /** Somebody edits the spec. */
  edit(changes: Readonly<Record<string, unknown>>): this {
    const { spec, metadata } = this.subject
    const generation = (metadata.generation ?? 1) + 1
    return this.change({
      spec: given({ ...(spec as object), ...changes }),
      metadata: { ...metadata, generation },
    } as Partial<World[Key]>)
  }

  markDeleted(): this {
    const metadata = { ...this.subject.metadata, deletionTimestamp: toTime(this.now) }
    return this.change({ metadata } as Partial<World[Key]>)
  }

  set(change: Partial<World>): this {
    this.world = { ...this.world, ...change }
    return this
  }

  setPolicy(change: Partial<Policy>): this {
    return this.set({ policy: { ...this.world.policy, ...change } } as Partial<World>)
  }

  /** Plans and executes until nothing is left to write. Throws if that does not end. */
  settle(): this {
    for (let turn = 0; turn < 10; turn += 1) if (!this.step()) return this
    throw new Error(`the plans never come to rest:\n${this.log.join('\n')}`)
  }

  /** Returns what is written right before the plan's requeue, or right before `mostMs` if that is earlier. The time is restored afterwards. */
  writtenUntilRequeue(mostMs: number): readonly string[] {
    const [written, { now }] = [this.log.length, this]
    const waitMs = Math.min(this.plan().requeue?.afterMs ?? mostMs, mostMs)
    this.now += Math.max(0, Math.floor(waitMs) - 1)
    this.step()
    this.now = now
    return this.log.slice(written)
  }

  /** Returns the metadata after the finalizer action of the plan; undefined if nothing changes. */
  protected finalized(metadata: ObjectMeta, change: FinalizerChange): ObjectMeta | undefined {
    const { finalizers = [] } = metadata
    if (change === 'add') {
      this.log.push('finalizer')
      return { ...metadata, finalizers: [...finalizers, this.#finalizer] }
    }
    if (change !== 'release' || !finalizers.includes(this.#finalizer)) return undefined
    this.log.push('finalizer released')
    this.isGone = true
    return { ...metadata, finalizers: finalizers.filter((one) => one !== this.#finalizer) }
  }
}
