import { isDeepStrictEqual } from 'node:util'
import { isApiError } from '../kube/api-error.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { applyChanges, type Changes } from './apply.ts'
import { BUG_REASON, statusWithBug } from './bug.ts'
import type { EventNote } from './event-recorder.ts'
import type { Precondition, Preconditions } from './preconditions.ts'
import { redactUrls } from './redact.ts'
import type { Services } from './services.ts'
import { transitionOf } from './transition.ts'
import type { Wake } from './wake.ts'

/** A DELETE that was accepted, or the release of our finalizer, shows in the cache soon after; so long it is not repeated. */
const DELETED_SEEN_MS = 30_000

/**
 * What is to be done about one object, as printable data. It is carried out in this order: status, finalizer, children,
 * annotations, removals; the release of the finalizer last.
 */
export interface ObjectPlan<R extends Removal = Removal> {
  readonly status: object
  readonly finalizer: 'add' | 'keep' | 'release'
  /** Children as they should be. */
  readonly apply: readonly KubeObject[]
  readonly remove: readonly R[]
  readonly touch?: readonly Touch<R>[]
  readonly events: readonly EventNote[]
  readonly wake?: Wake
  /** Nothing of the plan is carried out where one of them does not hold. */
  readonly onlyIf?: readonly Precondition[]
}

/**
 * A child to delete, if it is still the one that was seen. It is in the namespace of its owner. Or the object itself: not together with a change of
 * its status, which is looked at once more.
 */
export interface Removal {
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Where it is only right for the state that was seen. */
  readonly resourceVersion?: string
  /** Where it is another one than that of its kind. */
  readonly propagationPolicy?: 'Background'
  /** It waits as long as one of them does not hold. */
  readonly onlyIf?: readonly Precondition[]
  /** Told on the owner when it is deleted. */
  readonly event?: EventNote
}

/** Annotations for an object, if it is still the one that was seen: whoever waits before a new try makes it when the object changes. */
export interface Touch<R extends Removal = Removal> {
  readonly kind: R['kind']
  readonly name: string
  readonly uid: string
  /** Where they follow from the state that was seen. */
  readonly resourceVersion?: string
  readonly annotations: Readonly<Record<string, string>>
}

/** A kind of children, and how one goes: in the foreground only when all that it owns is gone. */
export interface ChildType {
  readonly type: ResourceType
  readonly propagationPolicy: 'Foreground' | 'Background'
}

/** The caches that plans are made from. */
export interface PlanCaches {
  readonly get: (type: ResourceType, key: string) => KubeObject | undefined
  /** Takes in the answer to a write of ours. */
  readonly observeWrite: (type: ResourceType, object: KubeObject) => void
}

export interface PlanWriterOptions<P extends KubeObject, R extends Removal>
  extends Omit<Services, 'random' | 'runtimeMetrics'> {
  readonly caches: PlanCaches
  readonly type: ResourceType
  /** Undefined: this kind has none. */
  readonly finalizer?: string
  /** By kind. */
  readonly children: Readonly<Record<R['kind'], ChildType>>
  /** For what must not rest on a cache: asked right before a removal is made. */
  readonly preconditions: Pick<Preconditions<P>, 'unmet'>
  /** A child was deleted, or the object itself. */
  readonly onRemoved?: (primary: P, removal: R) => void
  /** What the log says of a change of state beside phase, reason and message. */
  readonly factsBetween: (before: P, status: object) => Readonly<Record<string, unknown>>
}

/** Carries out plans for objects of one kind. What it has written enters the caches at once. */
export class PlanWriter<P extends KubeObject, R extends Removal> {
  readonly #options: PlanWriterOptions<P, R>
  readonly #statusWrittenAt = new Map<string, number>()
  readonly #deletedAt = new Map<string, number>()

  constructor(options: PlanWriterOptions<P, R>) {
    this.#options = options
  }

  /** Milliseconds since the last status write for the object with this uid; undefined when there was none. */
  sinceStatusWriteMs(uid: string): number | undefined {
    const at = this.#statusWrittenAt.get(uid)
    return at === undefined ? undefined : this.#options.clock.monotonic() - at
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#statusWrittenAt.delete(uid)
  }

  /** @param isStatusDue whether the status says anything that is worth a write. Throws ApiError. */
  async write(primary: P, plan: ObjectPlan<R>, isStatusDue: boolean, signal: AbortSignal): Promise<void> {
    const { client, type, caches, clock, events } = this.#options
    const { uid = '' } = primary.metadata
    const deleted: R[] = []
    const changes: Changes = {
      ...(isStatusDue && { status: plan.status }),
      ...(!this.#wasJustDeleted(uid) && this.#finalizerChange(primary, plan)),
      children: plan.apply.map((wanted) => ({ ...this.#existing(wanted), wanted })),
      touches: this.#touches(primary, plan.touch ?? []),
      removals: this.#removals(primary, plan.remove, isStatusDue, async (removal) => {
        const unmet = await this.#options.preconditions.unmet(primary, removal.onlyIf, signal)
        if (unmet === undefined) deleted.push(removal)
        return unmet !== undefined
      }),
    }
    this.#logPlan(primary, plan, isStatusDue)
    const notes = [...plan.events]
    let isLogged = false
    const tell = () => {
      for (const note of notes.splice(0)) events.record(primary, note)
    }
    const onWritten = (written: ResourceType, object: KubeObject) => {
      caches.observeWrite(written, object)
      if (!isStatusDue) return
      // The status comes first, and is told at once: what fails after it is planned again, but is not news any more.
      this.#statusWrittenAt.set(uid, clock.monotonic())
      if (!isLogged) this.#logTransition(primary, plan.status)
      isLogged = true
      tell()
    }
    try {
      await applyChanges(primary, changes, { client, type, signal, onWritten })
    } catch (error) {
      if (!this.#isGone(primary, error)) throw error
    }
    const released = changes.releaseFinalizer === undefined ? [] : [uid]
    if (released.length > 0) this.#options.log.info({ key: keyOf(primary.metadata) }, `${type.kind} is gone`)
    const children = deleted.map((removal) => removal.uid).filter((child) => child !== uid)
    for (const one of [...children, ...released]) this.#deletedAt.set(one, clock.monotonic())
    for (const removal of deleted) this.#tellRemoved(primary, removal)
    if (deleted.length > 0) tell()
  }

  /** Tells people, as far as its status can be written, of an object that a fault of ours keeps from being planned. */
  async tellBug(primary: P, fault: unknown, signal: AbortSignal): Promise<void> {
    const { client, type, caches, clock, log, events } = this.#options
    const status = statusWithBug(primary, fault, clock.now())
    if (isDeepStrictEqual(status, (primary as { readonly status?: object }).status)) return
    try {
      caches.observeWrite(type, await client.replaceStatus(type, { ...primary, status }, { signal }))
      events.record(primary, { type: 'Warning', reason: BUG_REASON, message: status.message })
    } catch (error) {
      const key = keyOf(primary.metadata)
      log.warn({ key, error: redactUrls(String(error)) }, `the status of a ${type.kind} cannot tell of a bug`)
    }
  }

  #tellRemoved(primary: P, removal: R): void {
    const { log, events, onRemoved } = this.#options
    if (removal.event !== undefined) {
      log.info({ key: keyOf(primary.metadata) }, removal.event.message)
      events.record(primary, removal.event)
    }
    onRemoved?.(primary, removal)
  }

  /** The story of an object: one line a change of state, for every kind. */
  #logTransition(primary: P, status: object): void {
    const { log, type, factsBetween } = this.#options
    const transition = transitionOf(primary, status)
    if (transition === undefined) return
    const facts = { key: keyOf(primary.metadata), ...transition, ...factsBetween(primary, status) }
    log.info(facts, `${type.kind} is ${transition['phase']}`)
  }

  #logPlan({ metadata }: P, { finalizer, apply, remove, touch = [], wake }: ObjectPlan<R>, isStatusDue: boolean): void {
    const count = apply.length + remove.length + touch.length
    const isIdle = !isStatusDue && finalizer === 'keep' && count === 0
    if (isIdle) return
    const nameOf = ({ kind, name }: { kind: string; name: string }) => `${kind}/${name}`
    const children = apply.map(({ kind, metadata: { name } }) => nameOf({ kind, name }))
    const facts = {
      status: isStatusDue,
      finalizer,
      apply: children,
      remove: remove.map(nameOf),
      touch: touch.map(nameOf),
      wake,
    }
    this.#options.log.debug({ key: keyOf(metadata), ...facts }, `plan for a ${this.#options.type.kind}`)
  }

  #finalizerChange(
    { metadata }: P,
    plan: ObjectPlan<R>,
  ): Pick<Changes, 'addFinalizer' | 'releaseFinalizer'> | undefined {
    const { finalizer } = this.#options
    if (finalizer === undefined) return undefined
    if (plan.finalizer === 'add') return { addFinalizer: finalizer }
    const isReleased = plan.finalizer === 'release' && metadata.finalizers?.includes(finalizer)
    return isReleased ? { releaseFinalizer: finalizer } : undefined
  }

  #existing({ kind, metadata }: KubeObject): { type: ResourceType; existing?: KubeObject } {
    const { caches, children } = this.#options
    const { type } = children[kind as R['kind']]
    const existing = caches.get(type, keyOf(metadata))
    return existing === undefined ? { type } : { type, existing }
  }

  #touches({ metadata: { namespace } }: P, touches: readonly Touch<R>[]): Changes['touches'] {
    return touches.map(({ kind, name, uid, resourceVersion, annotations }) => {
      const { type } = this.#options.children[kind]
      const seen = { uid, ...(resourceVersion !== undefined && { resourceVersion }) }
      return { type, key: namespace === undefined ? { name } : { namespace, name }, seen, annotations }
    })
  }

  #removals(
    { metadata: { namespace, uid: own } }: P,
    removals: readonly R[],
    isStatusDue: boolean,
    isHeldBack: (removal: R) => Promise<boolean>,
  ): Changes['removals'] {
    return removals
      .filter(({ uid }) => !this.#wasJustDeleted(uid) && !(uid === own && isStatusDue))
      .map((removal) => {
        const { kind, name, uid, resourceVersion, propagationPolicy } = removal
        const key = namespace === undefined ? { name } : { namespace, name }
        return {
          ...this.#options.children[kind as R['kind']],
          ...(propagationPolicy !== undefined && { propagationPolicy }),
          key,
          uid,
          ...(resourceVersion !== undefined && { resourceVersion }),
          isHeldBack: () => isHeldBack(removal),
        }
      })
  }

  #wasJustDeleted(uid: string): boolean {
    const now = this.#options.clock.monotonic()
    const deletedAt = this.#deletedAt.get(uid)
    // In the order in which they were added: the first one that is young ends it.
    for (const [other, at] of this.#deletedAt) {
      if (now - at < DELETED_SEEN_MS) break
      this.#deletedAt.delete(other)
    }
    return deletedAt !== undefined && now - deletedAt < DELETED_SEEN_MS
  }

  #isGone({ metadata }: P, error: unknown): boolean {
    const current = this.#options.caches.get(this.#options.type, keyOf(metadata))
    return isApiError(error, 'NotFound') && current?.metadata.uid !== metadata.uid
  }
}
