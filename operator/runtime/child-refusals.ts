import { type ApiError, isApiError } from '../kube/api-error.ts'
import { groupOf, type KubeObject, keyOf } from '../kube/kube-object.ts'
import { backoffMs } from './backoff.ts'
import type { Basics } from './basics.ts'
import { FailureCount } from './failure-count.ts'
import { upTo } from './foreign.ts'
import { isSame } from './owned-fields.ts'
import type { Wake } from './wake.ts'

/** Why a child of an object is not there, or is not as it should be. */
export interface ChildRefusal {
  /** `NameTaken`: an object that is not ours has the name. `Refused`: the API server does not take the child. */
  readonly why: 'NameTaken' | 'Refused'
  /** A sentence; what the API server said is in its own words, 1,000 characters at most. */
  readonly message: string
}

/** Names a child among those of all kinds: `<Kind>.<group>/<namespace>/<name>`; core kinds have no `.<group>`. */
export function childId({ apiVersion, kind, metadata }: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): string {
  const group = groupOf(apiVersion)
  return `${group === '' ? kind : `${kind}.${group}`}/${keyOf(metadata)}`
}

/** A refused child is tried again after a second, and later each time. */
const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000
const MESSAGE_MAX = 1_000

interface Noted {
  readonly refusal: ChildRefusal
  /** What was refused: something else is tried at once. */
  readonly wanted: KubeObject
  /** Version of what had the name, as far as the cache knew. */
  readonly seen: string | undefined
  readonly tries: number
  readonly dueAt: number
  readonly isTold: boolean
}

interface Family {
  readonly children: Map<string, Noted>
  /** What the status reported after the last plan: ids of children, and why each was refused. Undefined: not known yet, see {@link ChildRefusals.isUndecided}. */
  told: string | undefined
  isNews: boolean
}

/**
 * What the API server refused last, child by child, for objects that have many: the others go on without it. Each is tried again with a growing wait, at once where
 * something else is wanted of it, and forgotten with the object, or when nobody wants it any more; so a plan asks for what is refused as before.
 */
export class ChildRefusals {
  readonly #options: Pick<Basics, 'clock' | 'random'>
  readonly #families = new Map<string, Family>()
  readonly #failures = new FailureCount()

  constructor(options: Pick<Basics, 'clock' | 'random'>) {
    this.#options = options
  }

  /** Refusals that are certain, by {@link childId}. @param uid of the object */
  of(uid: string): ReadonlyMap<string, ChildRefusal> {
    const told = [...(this.#families.get(uid)?.children ?? [])].filter(([, { isTold }]) => isTold)
    return new Map(told.map(([id, { refusal }]) => [id, refusal]))
  }

  /** Whether this process cannot say yet what is refused: it has tried nothing, or a refusal may be over in a moment. A status that tells of refusals stays until then. */
  isUndecided(uid: string): boolean {
    return this.#families.get(uid)?.told === undefined
  }

  /** Whether a child is to be written now. */
  isDue(uid: string, wanted: KubeObject, existing: KubeObject | undefined): boolean {
    const noted = this.#families.get(uid)?.children.get(childId(wanted))
    if (noted === undefined || this.#options.clock.monotonic() >= noted.dueAt) return true
    return noted.seen !== existing?.metadata.resourceVersion || !isSame(noted.wanted, wanted)
  }

  /** The child is there, and as it should be. */
  taken(uid: string, wanted: KubeObject): void {
    this.#failures.forget(failureKey(uid, wanted))
    this.#families.get(uid)?.children.delete(childId(wanted))
  }

  /** Whether an error is the API server's answer about the child, and nothing that will be over by itself. A webhook that does not work is one if it comes again and again. */
  isAnswer(uid: string, wanted: KubeObject, error: ApiError): boolean {
    if (isApiError(error, 'Rejected', 'NotFound')) return true
    return isApiError(error, 'Unavailable') && this.#failures.add(failureKey(uid, wanted))
  }

  /** @param isCertain false: it is reported when it comes once more, since it may be over in a moment */
  note(uid: string, child: Pick<Noted, 'wanted' | 'refusal' | 'seen'>, isCertain: boolean): void {
    const { clock, random } = this.#options
    const { children } = this.#family(uid)
    const id = childId(child.wanted)
    const known = children.get(id)
    const tries = (known?.tries ?? 0) + 1
    const dueAt = clock.monotonic() + backoffMs(tries - 1, RETRY_BASE_MS, RETRY_MAX_MS, random)
    const refusal = { ...child.refusal, message: upTo(MESSAGE_MAX, child.refusal.message) }
    children.set(id, { ...child, refusal, tries, dueAt, isTold: isCertain || known !== undefined })
  }

  /** All children that are wanted have been written, or tried. */
  end(uid: string, wanted: readonly KubeObject[]): void {
    const family = this.#family(uid)
    const ids = new Set(wanted.map(childId))
    for (const id of family.children.keys()) if (!ids.has(id)) family.children.delete(id)
    if ([...family.children.values()].some(({ isTold }) => !isTold)) return
    const told = [...this.of(uid)].map(([id, { why }]) => `${id} ${why}`).join()
    family.isNews ||= told !== family.told
    family.told = told
  }

  /** Whether something else is refused than when this was last asked. Texts do not count: one that is never the same must not make a loop. */
  takeNews(uid: string): boolean {
    const family = this.#families.get(uid)
    const isNews = family?.isNews === true
    if (family !== undefined) family.isNews = false
    return isNews
  }

  /** When the next one is to be tried again. */
  wake(uid: string): Wake | undefined {
    const due = [...(this.#families.get(uid)?.children.values() ?? [])].map(({ dueAt }) => dueAt)
    if (due.length === 0) return undefined
    const afterMs = Math.max(0, Math.min(...due) - this.#options.clock.monotonic())
    return { afterMs, because: 'a child that was refused is tried again' }
  }

  /** The object is gone. */
  forget(uid: string): void {
    for (const { wanted } of this.#families.get(uid)?.children.values() ?? [])
      this.#failures.forget(failureKey(uid, wanted))
    this.#families.delete(uid)
  }

  #family(uid: string): Family {
    const family = this.#families.get(uid) ?? { children: new Map(), told: undefined, isNews: false }
    this.#families.set(uid, family)
    return family
  }
}

function failureKey(uid: string, wanted: KubeObject): string {
  return `${uid} ${childId(wanted)}`
}
