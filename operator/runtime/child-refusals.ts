import { createHash } from 'node:crypto'
import { backoffMs } from '../base/backoff.ts'
import type { ApiError } from '../kube/api-error.ts'
import { groupOf, type KubeObject, keyOf } from '../kube/kube-object.ts'
import type { Basics } from './basics.ts'
import { upTo } from './foreign.ts'
import { FailureCount } from './refusals.ts'
import type { Requeue } from './requeue.ts'

/** Why a child of an object does not exist, or is not as wanted. */
export interface ChildRefusal {
  /** `NameTaken`: an object that is not ours has the name. `Refused`: the API server does not accept the child. */
  readonly why: 'NameTaken' | 'Refused'
  /** A sentence of at most 1,000 characters. What the API server returned is in its own words. */
  readonly message: string
}

/** Names a child among those of all kinds: `<Kind>.<group>/<namespace>/<name>`. Core kinds have no `.<group>`. */
export function childId({ apiVersion, kind, metadata }: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): string {
  const group = groupOf(apiVersion)
  return `${group === '' ? kind : `${kind}.${group}`}/${keyOf(metadata)}`
}

/** A refused child is retried after a second, and then with increasing delay. */
const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000
const MESSAGE_MAX = 1_000

interface Noted {
  readonly refusal: ChildRefusal
  /** Hash of what was refused, which can be large. If something else is wanted, it is tried at once. */
  readonly wanted: string
  /** Version of the object with that name, as far as the cache knew. */
  readonly seen: string | undefined
  readonly tries: number
  readonly dueAt: number
  readonly isReported: boolean
}

/** Plans write the members of an object in the same order each time. */
function hashOf(object: KubeObject): string {
  return createHash('sha256').update(JSON.stringify(object)).digest('base64')
}

/** What is known about the children of one object, by {@link childId}. */
interface Family {
  readonly children: Map<string, Noted>
  readonly failures: FailureCount
  /** Ids of refused children and why, as the status reports them. Undefined: see {@link ChildRefusals.isUndecided}. */
  reported: string | undefined
  hasChanged: boolean
}

/**
 * The last refusal of each child, for objects with many children: the others proceed. A refused child is retried with increasing delay, or at
 * once if something else is wanted. It is forgotten if it is no longer wanted, so plans must continue to request it.
 */
export class ChildRefusals {
  readonly #options: Pick<Basics, 'clock' | 'random'>
  /** By uid of the object. */
  readonly #families = new Map<string, Family>()

  constructor(options: Pick<Basics, 'clock' | 'random'>) {
    this.#options = options
  }

  /** Returns the refusals that are certain, by {@link childId}. */
  of(uid: string): ReadonlyMap<string, ChildRefusal> {
    const reported = [...(this.#families.get(uid)?.children ?? [])].filter(([, { isReported }]) => isReported)
    return new Map(reported.map(([id, { refusal }]) => [id, refusal]))
  }

  /** Reports whether refusals are not known yet: nothing was tried, or one may be transient. A status then keeps those that it reports. */
  isUndecided(uid: string): boolean {
    return this.#families.get(uid)?.reported === undefined
  }

  isDue(uid: string, wanted: KubeObject, existing: KubeObject | undefined): boolean {
    const noted = this.#families.get(uid)?.children.get(childId(wanted))
    if (noted === undefined || this.#options.clock.monotonic() >= noted.dueAt) return true
    return noted.seen !== existing?.metadata.resourceVersion || noted.wanted !== hashOf(wanted)
  }

  /** Called when the child exists and is as wanted. */
  taken(uid: string, wanted: KubeObject): void {
    const id = childId(wanted)
    const family = this.#families.get(uid)
    family?.failures.forget(id)
    family?.children.delete(id)
  }

  isAnswer(uid: string, wanted: KubeObject, error: ApiError): boolean {
    return this.#family(uid).failures.isAnswer(childId(wanted), error, 'NotFound')
  }

  /** @param isCertain false: it may be transient, and is reported only when it occurs again */
  note(
    uid: string,
    child: Pick<Noted, 'refusal' | 'seen'> & { readonly wanted: KubeObject },
    isCertain: boolean,
  ): void {
    const { clock, random } = this.#options
    const { children } = this.#family(uid)
    const id = childId(child.wanted)
    const known = children.get(id)
    const tries = (known?.tries ?? 0) + 1
    const dueAt = clock.monotonic() + backoffMs(tries - 1, RETRY_BASE_MS, RETRY_MAX_MS, random)
    const refusal = { ...child.refusal, message: upTo(MESSAGE_MAX, child.refusal.message) }
    const wanted = hashOf(child.wanted)
    children.set(id, { ...child, wanted, refusal, tries, dueAt, isReported: isCertain || known !== undefined })
  }

  /** Called when all wanted children have been written or tried. */
  end(uid: string, wanted: readonly KubeObject[]): void {
    const family = this.#family(uid)
    const ids = new Set(wanted.map(childId))
    for (const id of family.children.keys()) if (!ids.has(id)) family.children.delete(id)
    if ([...family.children.values()].some(({ isReported }) => !isReported)) return
    const reported = [...this.of(uid)].map(([id, { why }]) => `${id} ${why}`).join()
    family.hasChanged ||= reported !== family.reported
    family.reported = reported
  }

  /** Returns whether the refusals changed since the last call. Texts do not count: one that always differs must not cause a loop. */
  takeChange(uid: string): boolean {
    const family = this.#families.get(uid)
    if (!family?.hasChanged) return false
    family.hasChanged = false
    return true
  }

  requeue(uid: string): Requeue | undefined {
    const due = [...(this.#families.get(uid)?.children.values() ?? [])].map(({ dueAt }) => dueAt)
    if (due.length === 0) return undefined
    const afterMs = Math.max(0, Math.min(...due) - this.#options.clock.monotonic())
    return { afterMs, because: 'a child that was refused is tried again' }
  }

  forget(uid: string): void {
    this.#families.delete(uid)
  }

  #family(uid: string): Family {
    let family = this.#families.get(uid)
    if (family === undefined) {
      family = { children: new Map(), failures: new FailureCount(), reported: undefined, hasChanged: false }
      this.#families.set(uid, family)
    }
    return family
  }
}
