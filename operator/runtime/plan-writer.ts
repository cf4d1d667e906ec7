import { isDeepStrictEqual } from 'node:util'
import { messageOf, redactUrls } from '../base/messages.ts'
import { isApiError } from '../kube/api-error.ts'
import { groupOf, type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { type ApplyContext, applyChanges, type Changes, type Child, type Completion, withStatus } from './apply.ts'
import type { ChildRefusals } from './child-refusals.ts'
import { cutMessage, mergeConditions, type StatusCondition } from './conditions.ts'
import type { EventNote } from './event-recorder.ts'
import { type ChildType, type ObjectPlan, type ObjectReference, type Removal, referTo } from './plan.ts'
import type { Precondition, Preconditions } from './preconditions.ts'
import type { Reflectors } from './reflectors.ts'
import { type Requeue, sooner } from './requeue.ts'
import type { Services } from './services.ts'
import type { Summary } from './summary.ts'

/** The cache shows an accepted DELETE, or the release of our finalizer, within this time. Until then it is not repeated. */
const DELETED_SEEN_MS = 30_000
/** Longer messages of a status are cut in the log. */
const LOGGED_MAX = 400
/** Reason of the condition and of the Event. */
const BUG_REASON = 'InternalError'

/** The caches that plans are made from. */
export type PlanCaches = Pick<Reflectors, 'get' | 'observeWrite'>

/** What a writer needs to know about a kind to execute plans for its objects. */
export interface WrittenKind<P extends KubeObject> {
  readonly type: ResourceType
  readonly finalizer?: string
  /** Types of the objects that its plans create, change or remove. May include the kind itself. */
  readonly children: readonly ChildType[]
  /** If set, a child that is refused does not prevent writes of others. A new refusal requeues the object. Plans continue to request the child. */
  readonly childRefusals?: ChildRefusals
  /** Whether an error of one child does not prevent writes of others. Implied by {@link WrittenKind.childRefusals}. */
  readonly areChildrenApart?: boolean
  /** Reports whether an object with the name of a child belongs to `primary`. Required with {@link WrittenKind.childRefusals}. */
  readonly isOurs?: (found: KubeObject, primary: P) => boolean
  /** Adds to a child what no plan may have, such as the random values of a Secret. Default: nothing. */
  readonly completed?: Completion
  /** Returns a namespace in which Events about an object without a namespace are written, too. */
  readonly alsoEventsIn?: (primary: P, status: object) => string | undefined
  /** Called when a child, or the object itself, was deleted. */
  readonly onRemoved?: (primary: P, removal: Removal) => void
  /** Reasons that nobody has to act on. From one of them to another, in the same phase, is a step of which only `debug` tells. */
  readonly quietReasons: readonly string[]
  /** Returns facts that the log adds to phase, reason and message of a state change. */
  readonly factsBetween: (before: P, status: object) => Readonly<Record<string, unknown>>
}

interface PlanWriterOptions<P extends KubeObject> extends Omit<Services, 'random' | 'runtimeMetrics'>, WrittenKind<P> {
  readonly caches: PlanCaches
  /** For what must not rely on a cache. Checked right before each removal, and before each write of a guarded child. */
  readonly preconditions: Pick<Preconditions<P>, 'unmet'>
}

/** Executes plans for objects of one kind. Its writes appear in the caches at once. */
export class PlanWriter<P extends KubeObject> {
  readonly #options: PlanWriterOptions<P>
  readonly #statusWrittenAt = new Map<string, number>()
  readonly #deletedAt = new Map<string, number>()

  constructor(options: PlanWriterOptions<P>) {
    this.#options = options
  }

  sinceStatusWriteMs(uid: string): number | undefined {
    const at = this.#statusWrittenAt.get(uid)
    return at === undefined ? undefined : this.#options.clock.monotonic() - at
  }

  forget(uid: string): void {
    this.#statusWrittenAt.delete(uid)
  }

  /** `isStatusDue`: the status has changes that are worth a write. Returns when to requeue for children that are held back. Throws ApiError. */
  async write(primary: P, plan: ObjectPlan, isStatusDue: boolean, signal: AbortSignal): Promise<Requeue | undefined> {
    const { client, type, caches, clock, log, preconditions, onRemoved, areChildrenApart, completed } = this.#options
    const { uid = '' } = primary.metadata
    let requeue: Requeue | undefined
    const isUnmet = async (onlyIf: readonly Precondition[]) => {
      const unmet = await preconditions.unmet(primary, onlyIf, signal)
      if (unmet !== undefined) requeue = sooner(requeue, unmet)
      return unmet !== undefined
    }
    const notes = [...plan.events]
    const recordEvents = () => {
      for (const note of notes.splice(0)) this.#record(primary, plan.status, note)
    }
    const onDeleted = (removal: Removal) => {
      if (removal.uid !== uid) this.#deletedAt.set(removal.uid, clock.monotonic())
      if (removal.event !== undefined) {
        log.info(this.#subject(primary), removal.event.message)
        this.#record(primary, plan.status, removal.event)
      }
      onRemoved?.(primary, removal)
      // The Events belong to a status that is not written yet.
      if (!(isStatusDue && removal.isFirst === true)) recordEvents()
    }
    const removals = plan.remove.filter((one) => !this.#wasJustDeleted(one.uid) && !(one.uid === uid && isStatusDue))
    const changes: Changes = {
      ...(isStatusDue && { status: plan.status }),
      ...(!this.#wasJustDeleted(uid) && this.#finalizerChange(primary, plan)),
      children: [
        ...plan.apply.map((wanted) => this.#child(wanted)),
        ...(plan.applyIf ?? []).map(({ wanted, onlyIf }) => ({
          ...this.#child(wanted),
          isHeldBack: () => isUnmet(onlyIf),
        })),
      ],
      touches: (plan.touch ?? []).map((touch) => ({ ...touch, type: this.#childType(touch).type })),
      removals: removals.map((removal) => ({
        ...this.#childType(removal),
        ...removal,
        isHeldBack: async () => (await preconditions.unmet(primary, removal.onlyIf, signal)) !== undefined,
        onDeleted: () => onDeleted(removal),
      })),
    }
    this.#logPlan(primary, plan, isStatusDue)
    let isLogged = false
    const onWritten = (written: ResourceType, object: KubeObject) => {
      caches.observeWrite(written, object)
      if (!isStatusDue) return
      // The status and its Events come first: if a later write fails, the next plan repeats that write but not the Events.
      this.#statusWrittenAt.set(uid, clock.monotonic())
      if (!isLogged) this.#logTransition(primary, plan.status)
      isLogged = true
      recordEvents()
    }
    try {
      const siblings = this.#siblings(primary, plan)
      const context = { client, type, signal, onWritten, areChildrenApart, siblings, completed }
      await applyChanges(primary, changes, context)
    } catch (error) {
      if (!this.#isGone(primary, error)) throw error
    }
    if (changes.releaseFinalizer !== undefined) {
      log.info(this.#subject(primary), `${type.kind} is gone`)
      this.#deletedAt.set(uid, clock.monotonic())
    }
    return requeue
  }

  #record(primary: P, status: object, note: EventNote): void {
    const { events, alsoEventsIn } = this.#options
    events.record(primary, note, alsoEventsIn?.(primary, status))
  }

  /** Reports in the status, if it can be written, and in an Event that a bug in the operator prevents planning of the object. */
  async reportBug(primary: P, fault: unknown, signal: AbortSignal): Promise<void> {
    const { client, type, caches, clock, log } = this.#options
    const status = statusWithBug(primary, fault, clock.now())
    if (isDeepStrictEqual(status, (primary as { readonly status?: object }).status)) return
    try {
      caches.observeWrite(type, await client.replaceStatus(type, withStatus(primary, status), { signal }))
      this.#record(primary, status, { type: 'Warning', reason: BUG_REASON, message: status.message })
    } catch (error) {
      log.warn(
        { ...this.#subject(primary), error: redactUrls(String(error)) },
        `the status of a ${type.kind} cannot tell of a bug`,
      )
    }
  }

  /** Children are not independent if the finalizer is released: that requires that everything else has succeeded. */
  #siblings(primary: P, { finalizer }: ObjectPlan): ApplyContext['siblings'] {
    const { childRefusals: refusals, isOurs } = this.#options
    if (refusals === undefined || finalizer === 'release') return undefined
    return { refusals, isOurs: (found) => isOurs?.(found, primary) === true }
  }

  /** What every line about an object has: one search finds its story. A deleted object and its successor differ in the uid. */
  #subject({ metadata }: P): { readonly kind: string; readonly key: string; readonly uid: string | undefined } {
    return { kind: this.#options.type.kind, key: keyOf(metadata), uid: metadata.uid }
  }

  /**
   * Logs one line if the phase or the reason changed, for every kind. Progress, queue positions and similar changes are not logged. What goes on by
   * itself in the same phase is a line for who debugs: a class of 200 machines would have a thousand of these.
   */
  #logTransition(before: P, after: object): void {
    const { log, type, factsBetween, quietReasons } = this.#options
    const { status: was = {} } = before as { readonly status?: Partial<Summary> }
    const { phase = '', reason = '', message = '' } = after as Partial<Summary>
    if (phase === (was.phase ?? '') && reason === (was.reason ?? '')) return
    const text = message.length > LOGGED_MAX ? `${message.slice(0, LOGGED_MAX)}…` : message
    const transition = { ...(was.phase !== undefined && { from: was.phase }), phase, reason, message: redactUrls(text) }
    const isStep = phase === was.phase && [reason, was.reason ?? ''].every((one) => quietReasons.includes(one))
    const facts = { ...this.#subject(before), ...transition, ...factsBetween(before, after) }
    log[isStep ? 'debug' : 'info'](facts, `${type.kind} is ${phase}`)
  }

  #logPlan({ metadata }: P, plan: ObjectPlan, isStatusDue: boolean): void {
    const { finalizer, apply, applyIf = [], remove, touch = [], requeue } = plan
    const wanted = [...apply, ...applyIf.map((one) => one.wanted)]
    if (!isStatusDue && finalizer === 'keep' && wanted.length + remove.length + touch.length === 0) return
    const titles = (those: readonly ObjectReference[]) => those.map(({ kind, name }) => `${kind}/${name}`)
    const children = { apply: titles(wanted.map(referTo)), remove: titles(remove), touch: titles(touch) }
    const facts = { key: keyOf(metadata), status: isStatusDue, finalizer, ...children, requeue }
    this.#options.log.debug(facts, `plan for a ${this.#options.type.kind}`)
  }

  #finalizerChange(
    { metadata }: P,
    plan: ObjectPlan,
  ): Pick<Changes, 'addFinalizer' | 'liftFinalizer' | 'releaseFinalizer'> | undefined {
    const { finalizer } = this.#options
    if (finalizer === undefined) return undefined
    if (plan.finalizer === 'add') return { addFinalizer: finalizer }
    if (plan.finalizer === 'keep' || metadata.finalizers?.includes(finalizer) !== true) return undefined
    return plan.finalizer === 'lift' ? { liftFinalizer: finalizer } : { releaseFinalizer: finalizer }
  }

  /** Matches kind and group, because KubeVirt has a VirtualMachine too. */
  #childType({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): ChildType {
    const found = this.#options.children.find(({ type }) => type.kind === kind && type.group === groupOf(apiVersion))
    if (found === undefined) throw new TypeError(`${apiVersion} ${kind} is no kind of children`)
    return found
  }

  #child(wanted: KubeObject): Child {
    const { type } = this.#childType(wanted)
    return { type, wanted, existing: this.#options.caches.get(type, keyOf(wanted.metadata)) }
  }

  #wasJustDeleted(uid: string): boolean {
    const now = this.#options.clock.monotonic()
    const deletedAt = this.#deletedAt.get(uid)
    // Entries are in insertion order, so the first recent one ends the loop.
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

/** Returns the status of an object that cannot be planned because of a bug. What it reported before may still be true, so it is kept. */
export function statusWithBug(object: KubeObject, error: unknown, now: number) {
  const { status = {} } = object as { readonly status?: { readonly conditions?: readonly StatusCondition[] } }
  const text = redactUrls(messageOf(error))
  const message = cutMessage(`internal error in the operator: ${text}; see its log, and report it`)
  const stalled = { type: 'Stalled', status: 'True', reason: BUG_REASON, message } as const
  const { generation: observedGeneration } = object.metadata
  const conditions = mergeConditions(status.conditions ?? [], [stalled], observedGeneration, now)
  const seen = observedGeneration !== undefined && { observedGeneration }
  return { ...status, ...seen, reason: BUG_REASON, message, conditions }
}
