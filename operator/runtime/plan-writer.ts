import { isDeepStrictEqual } from 'node:util'
import { isApiError } from '../kube/api-error.ts'
import { groupOf, type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { type ApplyContext, applyChanges, type Changes } from './apply.ts'
import { BUG_REASON, statusWithBug } from './bug.ts'
import type { ChildRefusals } from './child-refusals.ts'
import { type ChildType, type ObjectPlan, type ObjectReference, type Removal, referTo } from './plan.ts'
import type { Precondition, Preconditions } from './preconditions.ts'
import { redactUrls } from './redact.ts'
import type { Services } from './services.ts'
import { sooner, type Wake } from './wake.ts'

/** A DELETE that was accepted, or the release of our finalizer, shows in the cache soon after; so long it is not repeated. */
const DELETED_SEEN_MS = 30_000

/** The caches that plans are made from. */
export interface PlanCaches {
  readonly get: (type: ResourceType, key: string) => KubeObject | undefined
  /** Takes in the answer to a write of ours. */
  readonly observeWrite: (type: ResourceType, object: KubeObject) => void
}

/** What has to be known of a kind to carry out plans for its objects. */
export interface WrittenKind<P extends KubeObject> {
  readonly type: ResourceType
  /** Undefined: this kind has none. */
  readonly finalizer?: string
  /** Of the objects that its plans create, change or remove; it may be among them itself. */
  readonly children: readonly ChildType[]
  /**
   * Given where one child that the API server refuses keeps no other from being written. What is refused is seen by the next plan, which comes at once; a plan goes on
   * to ask for it.
   */
  readonly childRefusals?: ChildRefusals
  /** Whether an error of one child keeps no other from being written; so it is with {@link WrittenKind.childRefusals} in any case. */
  readonly areChildrenApart?: boolean
  /** Whether an object that has the name of a child belongs to the object; needed with {@link WrittenKind.childRefusals}. */
  readonly isOurs?: (found: KubeObject, primary: P) => boolean
  /** A child was deleted, or the object itself. */
  readonly onRemoved?: (primary: P, removal: Removal) => void
  /** What the log says of a change of state beside phase, reason and message. */
  readonly factsBetween: (before: P, status: object) => Readonly<Record<string, unknown>>
}

export interface PlanWriterOptions<P extends KubeObject>
  extends Omit<Services, 'random' | 'runtimeMetrics'>,
    WrittenKind<P> {
  readonly caches: PlanCaches
  /** For what must not rest on a cache: asked right before a removal is made. */
  readonly preconditions: Pick<Preconditions<P>, 'unmet'>
}

/** Carries out plans for objects of one kind. What it has written enters the caches at once. */
export class PlanWriter<P extends KubeObject> {
  readonly #options: PlanWriterOptions<P>
  readonly #statusWrittenAt = new Map<string, number>()
  readonly #deletedAt = new Map<string, number>()

  constructor(options: PlanWriterOptions<P>) {
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

  /**
   * Throws ApiError.
   * @param isStatusDue whether the status says anything that is worth a write
   * @returns when to look again for children that had to wait
   */
  async write(primary: P, plan: ObjectPlan, isStatusDue: boolean, signal: AbortSignal): Promise<Wake | undefined> {
    const { client, type, caches, clock, events } = this.#options
    const { uid = '' } = primary.metadata
    let wake: Wake | undefined
    const isUnmet = async (onlyIf: readonly Precondition[]) => {
      const unmet = await this.#options.preconditions.unmet(primary, onlyIf, signal)
      if (unmet !== undefined) wake = sooner(wake, unmet)
      return unmet !== undefined
    }
    const notes = [...plan.events]
    const tell = () => {
      for (const note of notes.splice(0)) events.record(primary, note)
    }
    const onDeleted = (removal: Removal) => {
      if (removal.uid !== uid) this.#deletedAt.set(removal.uid, clock.monotonic())
      this.#tellRemoved(primary, removal)
      tell()
    }
    const changes: Changes = {
      ...(isStatusDue && { status: plan.status }),
      ...(!this.#wasJustDeleted(uid) && this.#finalizerChange(primary, plan)),
      children: [
        ...plan.apply.map((wanted) => ({ ...this.#existing(wanted), wanted })),
        ...(plan.applyIf ?? []).map(({ wanted, onlyIf }) => {
          return { ...this.#existing(wanted), wanted, isHeldBack: () => isUnmet(onlyIf) }
        }),
      ],
      touches: (plan.touch ?? []).map((touch) => ({ ...touch, type: this.#childType(touch).type })),
      removals: this.#dueRemovals(primary, plan.remove, isStatusDue).map((removal) => ({
        ...this.#childType(removal),
        ...removal,
        isHeldBack: async () =>
          (await this.#options.preconditions.unmet(primary, removal.onlyIf, signal)) !== undefined,
        onDeleted: () => onDeleted(removal),
      })),
    }
    this.#logPlan(primary, plan, isStatusDue)
    let isLogged = false
    const onWritten = (written: ResourceType, object: KubeObject) => {
      caches.observeWrite(written, object)
      if (!isStatusDue) return
      // The status comes first, and its Events with it: what fails after it is planned again, but is not news any more.
      this.#statusWrittenAt.set(uid, clock.monotonic())
      if (!isLogged) this.#logTransition(primary, plan.status)
      isLogged = true
      tell()
    }
    try {
      const { areChildrenApart = false } = this.#options
      const context = { client, type, signal, onWritten, areChildrenApart, ...this.#siblings(primary, plan) }
      await applyChanges(primary, changes, context)
    } catch (error) {
      if (!this.#isGone(primary, error)) throw error
    }
    if (changes.releaseFinalizer !== undefined) {
      this.#options.log.info({ key: keyOf(primary.metadata) }, `${type.kind} is gone`)
      this.#deletedAt.set(uid, clock.monotonic())
    }
    return wake
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

  /** The finalizer is released only where everything else was done. */
  #siblings(owner: P, { finalizer }: ObjectPlan): Pick<ApplyContext, 'siblings'> {
    const { childRefusals: refusals, isOurs } = this.#options
    if (refusals === undefined || finalizer === 'release') return {}
    return { siblings: { owner, refusals, isOurs: (found) => isOurs?.(found, owner) === true } }
  }

  #tellRemoved(primary: P, removal: Removal): void {
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

  #logPlan({ metadata }: P, plan: ObjectPlan, isStatusDue: boolean): void {
    const { finalizer, apply, applyIf = [], remove, touch = [], wake } = plan
    const wanted = [...apply, ...applyIf.map((one) => one.wanted)]
    if (!isStatusDue && finalizer === 'keep' && wanted.length + remove.length + touch.length === 0) return
    const titles = (those: readonly ObjectReference[]) => those.map(({ kind, name }) => `${kind}/${name}`)
    const children = { apply: titles(wanted.map(referTo)), remove: titles(remove), touch: titles(touch) }
    const facts = { key: keyOf(metadata), status: isStatusDue, finalizer, ...children, wake }
    this.#options.log.debug(facts, `plan for a ${this.#options.type.kind}`)
  }

  #finalizerChange({ metadata }: P, plan: ObjectPlan): Pick<Changes, 'addFinalizer' | 'releaseFinalizer'> | undefined {
    const { finalizer } = this.#options
    if (finalizer === undefined) return undefined
    if (plan.finalizer === 'add') return { addFinalizer: finalizer }
    const isReleased = plan.finalizer === 'release' && metadata.finalizers?.includes(finalizer)
    return isReleased ? { releaseFinalizer: finalizer } : undefined
  }

  /** KubeVirt has a VirtualMachine too: a kind is one of its group. */
  #childType({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): ChildType {
    const found = this.#options.children.find(({ type }) => type.kind === kind && type.group === groupOf(apiVersion))
    if (found === undefined) throw new TypeError(`${apiVersion} ${kind} is no kind of children`)
    return found
  }

  #existing(wanted: KubeObject): { type: ResourceType; existing?: KubeObject } {
    const { type } = this.#childType(wanted)
    const existing = this.#options.caches.get(type, keyOf(wanted.metadata))
    return existing === undefined ? { type } : { type, existing }
  }

  /** Those that are to be asked for now. */
  #dueRemovals({ metadata: { uid: own } }: P, removals: readonly Removal[], isStatusDue: boolean): readonly Removal[] {
    return removals.filter(({ uid }) => !this.#wasJustDeleted(uid) && !(uid === own && isStatusDue))
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

/** What a status of every Open Terrain kind says first. */
interface Stand {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
}

/** Longer ones are in the status. */
const LOGGED_MAX = 400

/**
 * What the log tells of a status that was written: one line where the phase or the reason changed. Progress, places in a queue
 * and the like are no news here.
 */
function transitionOf(before: KubeObject, after: object): Readonly<Record<string, string>> | undefined {
  const { status: was = {} } = before as { readonly status?: Stand }
  const { phase = '', reason = '', message = '' } = after as Stand
  if (phase === (was.phase ?? '') && reason === (was.reason ?? '')) return undefined
  const text = message.length > LOGGED_MAX ? `${message.slice(0, LOGGED_MAX)}…` : message
  return { ...(was.phase !== undefined && { from: was.phase }), phase, reason, message: redactUrls(text) }
}
