import type { SpecProblem } from '@open-terrain/constructs/operator'
import { memoized } from '@open-terrain/constructs/operator'
import { isSame } from '../base/equality.ts'
import { grouped } from '../base/messages.ts'
import { groupOf, type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import type { CacheBudget } from '../runtime/cache-budget.ts'
import { bytesOf, DEPTH_MAX, fits, VALUE_MAX, VALUES_MAX } from '../runtime/foreign.ts'
import type { Reflectors } from '../runtime/reflectors.ts'
import type { Change, Store } from '../runtime/store.ts'
import { keptMetadata, type Matters } from './kept-metadata.ts'

/** An Open Terrain object as its cache keeps it. The spec is not validated: it may come from an older schema. */
export interface OwnView extends KubeObject {
  readonly spec: unknown
  readonly status: object
  /** Set if the spec, or an annotation, was too large for the cache: the view has only what others need to know, and is not to be planned. */
  readonly isCut?: true
  /** Set if the budget of the caches has no room for the spec: the view has only what others need to know, and the whole is read to be planned. */
  readonly isAside?: true
  /** Set if the view was cut for want of room, not by its own size. */
  readonly lacksRoom?: true
}

/**
 * Returns a view with at most `max` characters, and VALUES_MAX values, beside its status, whose schema limits it. One that has more is marked, and its spec is
 * replaced by `references`: what it refers to is known of an object of any size, and nothing is ever decided on half a spec.
 */
export function cutToFit<T extends OwnView>(view: T, max: number, references: (spec: unknown) => object): T {
  const { metadata, spec } = view
  if (fits({ metadata, spec }, max, VALUES_MAX)) return view
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([, value]) => value.length <= VALUE_MAX)
  const kept = { ...metadata, annotations: annotations.length === 0 ? undefined : Object.fromEntries(annotations) }
  return { ...view, metadata: kept, spec: references(spec), isCut: true }
}

/** Bytes of a spec that is always kept. */
const SMALL_BYTES = 16_000

/** Returns the view as a cache keeps it: if the budget has no room for its spec, only with what the spec refers to. */
function keptWithin<T extends OwnView>(
  budget: CacheBudget,
  view: T,
  references: (spec: unknown) => object,
  small = SMALL_BYTES,
): T {
  const id = budgetId(view)
  const { spec } = view
  const bytes = bytesOf(spec)
  if (bytes <= small || typeof spec !== 'object' || spec === null) {
    budget.release(id)
    return view
  }
  // What is parsed from it is kept too.
  return budget.take(id, spec, 2 * bytes) ? view : { ...view, spec: references(spec), isAside: true }
}

/** Like {@link keptWithin}, for a kind whose objects are planned from each other's specs: one without room is cut. */
function cutWithin<T extends OwnView>(...args: Parameters<typeof keptWithin<T>>): T {
  const { isAside, ...view } = keptWithin(...args)
  return (isAside === true ? { ...view, isCut: true, lacksRoom: true } : view) as T
}

/** Gives back what was taken for an object that is gone. */
function releaseGone(budget: CacheBudget) {
  return ({ before, after }: Change<OwnView>): void => {
    if (before !== undefined && after === undefined) budget.release(budgetId(before))
  }
}

function budgetId({ apiVersion, kind, metadata }: OwnView): string {
  return `${groupOf(apiVersion)}/${kind} ${keyOf(metadata)}`
}

/** Returns a name that an object may have, of a spec that is not validated; undefined for anything else. */
export function nameIn(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= VALUE_MAX ? value : undefined
}

/** Returns what `nameOf` finds in the items of a list that is not validated, once each. */
export function namesAmong(list: unknown, nameOf: (item: Readonly<Record<string, unknown>>) => unknown): string[] {
  const items: unknown[] = Array.isArray(list) ? list : []
  const isRecord = (item: unknown): item is Readonly<Record<string, unknown>> =>
    typeof item === 'object' && item !== null
  const names = items.map((item) => (isRecord(item) ? nameIn(nameOf(item)) : undefined))
  return [...new Set(names.filter((name) => name !== undefined))]
}

interface Usable<Spec> {
  readonly ok: true
  readonly spec: Spec
}

interface Unusable {
  readonly ok: false
  readonly problems: readonly SpecProblem[]
}

type Mark = 'isCut' | 'isAside' | 'lacksRoom'

const NO_ROOM: Unusable = {
  ok: false,
  problems: [
    {
      path: 'spec',
      message:
        'must be smaller: large specs, all together, are more than the memory of the operator has room for, and nothing is created, changed or removed ' +
        'for this one; make it smaller, or have resources.limits.memory of the operator raised',
    },
  ],
}

/** Returns why the spec of a view cannot be used, if {@link parserOf} returns problems for it. */
export function unusableReason({ isCut }: Pick<OwnView, 'isCut'>): 'TooLarge' | 'InvalidSpec' {
  return isCut === true ? 'TooLarge' : 'InvalidSpec'
}

/** Parses the spec of a view, once for each spec object that a cache returns. That of a view that was cut is a problem of its own. */
export function parserOf<T extends { readonly ok: true }>(parse: (spec: unknown) => T | Unusable, max: number) {
  const parsed = memoized(parse)
  const most = `${grouped(max)} characters, those of the annotations of the operator included, ${grouped(VALUES_MAX)} values, and ${DEPTH_MAX} levels of fields and lists`
  const message = `must have at most ${most}: nothing is created, changed or removed for a larger one`
  const tooLarge: Unusable = { ok: false, problems: [{ path: 'spec', message }] }
  return ({ spec, isCut, isAside, lacksRoom }: Pick<OwnView, 'spec' | Mark>): T | Unusable => {
    if (isAside === true) throw new TypeError('the spec has not been read')
    if (lacksRoom === true) return NO_ROOM
    return isCut === true ? tooLarge : parsed(spec)
  }
}

/** What its cache, and whoever reads its specs, must know of one of our kinds. */
interface OwnKindOptions<View extends OwnView, Spec> {
  readonly type: ResourceType
  readonly parse: (spec: unknown) => Usable<Spec> | Unusable
  /** Maximum characters of an object beside its status: a larger one is cut. */
  readonly max: number
  /** Labels and annotations that decisions depend on. */
  readonly matters: Matters
  /** Returns what a spec, also an invalid one, refers to: in the form of a spec. */
  readonly references: (spec: unknown) => object
  /**
   * What is kept of a large spec if the budget of the caches has no room for it: `aside`, it is read when the object is planned; `cut`, the object is not
   * planned, because others are planned from its spec too. Default: specs are so small that the budget does not count them.
   */
  readonly withoutRoom?: 'aside' | 'cut'
  /** Bytes of a spec that is kept in any case. Default: those of {@link keptWithin}. */
  readonly smallBytes?: number
  /** Adds what this kind keeps besides. @param object as the API server sent it */
  readonly completed?: (view: View, object: KubeObject) => View
}

/** Derives what all our kinds have in common: the view that the cache of a kind keeps, that cache, and the parser of the specs in it. */
export function ownKind<View extends OwnView, Spec>(options: OwnKindOptions<View, Spec>) {
  const { type, parse, max, matters, references, withoutRoom, smallBytes, completed } = options
  const view = (object: KubeObject): View => {
    const { apiVersion, kind, metadata, spec, status } = object as View
    const whole = { apiVersion, kind, metadata: keptMetadata(metadata, matters), spec, status: status ?? {} } as View
    const kept = cutToFit(whole, max, references)
    return completed === undefined ? kept : completed(kept, object)
  }
  return {
    /** Returns the view of an object, with its spec: the budget of the caches is not asked. */
    view,
    parsed: parserOf(parse, max),
    /** Keeps all objects of the kind in `store`. */
    keepIn(store: Store<View>, reflectors: Reflectors): void {
      const { budget } = reflectors
      const within = { aside: keptWithin<View>, cut: cutWithin<View> }
      const kept = (object: KubeObject): View => {
        const known = withKnownSpec(view(object), store.get(keyOf(object.metadata)))
        return withoutRoom === undefined ? known : within[withoutRoom](budget, known, references, smallBytes)
      }
      reflectors.add(type, store, kept, { keptMax: 'as projected' })
      if (withoutRoom !== undefined) store.onChange(releaseGone(budget))
    },
  }
}

/** Returns the object with its earlier spec if both are equal, so that memoized results of the spec stay valid while only the status changes. */
function withKnownSpec<T extends { readonly spec: unknown }>(object: T, before: T | undefined): T {
  return before !== undefined && isSame(before.spec, object.spec) ? { ...object, spec: before.spec } : object
}
