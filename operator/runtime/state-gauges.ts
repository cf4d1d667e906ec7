import type { Gauge } from 'prom-client'
import type { Clock } from '../base/clock.ts'
import { fromTime } from '../base/time.ts'
import type { ObjectMeta } from '../kube/kube-object.ts'
import { isTold, type KindConditions, type StatusCondition } from './conditions.ts'
import type { Meters } from './meters.ts'
import { knownOrOther } from './metric-labels.ts'
import { reasonOf } from './summary.ts'

/** A state that somebody may have to act on. */
export interface ObjectState {
  /** The phase of the object, or what comes before it, such as {@link DELETING}. */
  readonly phase: string
  readonly reason: string
  /** In milliseconds. */
  readonly since: number
}

/** The fields of an object that its states are read from. */
export interface StatefulObject {
  readonly metadata: Pick<ObjectMeta, 'uid' | 'deletionTimestamp'>
  readonly status?: {
    readonly phase?: string | undefined
    readonly reason?: string | undefined
    readonly conditions?: readonly StatusCondition[] | undefined
  }
}

/** What the gauges need to know about a kind. */
export interface KindStates<O> {
  /** Every reason that there is, with its help. Any other one counts as `Other`: a label must not have any value that a status has. */
  readonly reasons: object
  /** Its conditions. Those with the gauge `reason` are states of their own while they are told. */
  readonly conditions: KindConditions
  /** Returns further states, which are neither in phase and reason nor in a condition. */
  readonly more?: (object: O, now: number) => readonly ObjectState[]
}

/** The phase of an object that is being deleted. */
export const DELETING = 'Deleting'

type Labels = Readonly<Record<'kind' | 'phase' | 'reason', string>>

/** How many objects of each kind are in each state, and for how long at most, as observed by the replica that leads. Nothing for the others. */
export class StateGauges {
  readonly #count: Gauge
  readonly #longest: Gauge
  readonly #sources = new Map<string, () => void>()

  constructor(meters: Pick<Meters, 'gauge'>) {
    const labels = ['kind', 'phase', 'reason'] as const
    this.#count = meters.gauge('ot_state_objects', 'Objects by kind, phase and reason', ...labels)
    this.#longest = meters.gauge(
      'ot_state_longest_seconds',
      'How long the object that is in this phase for this reason longest has been so',
      ...labels,
    )
  }

  /** Reports objects of a kind. Returns a function that stops this. */
  observe<O extends StatefulObject>(
    kind: string,
    clock: Pick<Clock, 'now'>,
    objects: () => Iterable<O>,
    { reasons, conditions, more = () => [] }: KindStates<O>,
  ): () => void {
    const memory = new StateMemory(conditions)
    this.#sources.set(kind, () => {
      const now = clock.now()
      const found = new Map<string, { readonly labels: Labels; count: number; seconds: number }>()
      for (const object of objects()) {
        for (const { phase, reason: named, since } of distinct([
          ...statesOfConditions(object, conditions, now),
          ...more(object, now),
          ...memory.stateOf(object, now),
        ])) {
          const labels = { kind, phase, reason: knownOrOther(reasons, named) }
          const key = `${phase} ${labels.reason}`
          const group = found.get(key) ?? { labels, count: 0, seconds: 0 }
          group.count += 1
          group.seconds = Math.max(group.seconds, (now - since) / 1_000)
          found.set(key, group)
        }
      }
      memory.turn()
      // Not once for each object, of which there may be thousands.
      for (const { labels, count, seconds } of found.values()) {
        this.#count.set(labels, count)
        this.#longest.set(labels, seconds)
      }
    })
    return () => this.#sources.delete(kind)
  }

  /** Computes the gauges. */
  read(): void {
    this.#count.reset()
    this.#longest.reset()
    for (const source of this.#sources.values()) source()
  }
}

/** The first of those with the same phase and reason. */
function distinct(states: readonly ObjectState[]): readonly ObjectState[] {
  return states.filter(
    ({ phase, reason }, at) => states.findIndex((one) => one.phase === phase && one.reason === reason) === at,
  )
}

/**
 * Remembers since when objects that are under way have their reason: a status only has the times at which its conditions changed. An
 * object that was never looked at counts as having had its reason since then.
 */
class StateMemory {
  #known = new Map<string, ObjectState>()
  #next = new Map<string, ObjectState>()
  readonly #conditions: KindConditions

  constructor(conditions: KindConditions) {
    this.#conditions = conditions
  }

  /** None: the object has no status yet. */
  stateOf(object: StatefulObject, now: number): readonly ObjectState[] {
    const state = stateOf(object, now, this.#conditions)
    if (state === undefined) return []
    if (isAtRest(object)) return [state]
    const { uid = '' } = object.metadata
    const known = this.#known.get(uid) ?? state
    const isSame = known.phase === state.phase && known.reason === state.reason
    const remembered = isSame ? known : { ...state, since: now }
    this.#next.set(uid, remembered)
    return [remembered]
  }

  /** Ends a look at all objects: those that it did not see are forgotten. */
  turn(): void {
    this.#known = this.#next
    this.#next = new Map()
  }
}

function stateOf(
  { metadata, status = {} }: StatefulObject,
  now: number,
  rules: KindConditions,
): ObjectState | undefined {
  const { phase, conditions = [], reason = reasonOf({ conditions }) ?? '' } = status
  const deletion = fromTime(metadata.deletionTimestamp)
  if (deletion !== undefined)
    return { phase: DELETING, reason: phase === undefined ? DELETING : reason, since: deletion }
  if (phase === undefined) return undefined
  const those = conditions.filter(({ type }) => rules[type]?.gauge === 'phase')
  const times = those.flatMap((one) => fromTime(one.lastTransitionTime) ?? [])
  return { phase, reason, since: times.length === 0 ? now : Math.max(...times) }
}

/** Whether the last change of its conditions tells when its state began. */
function isAtRest({ metadata, status }: StatefulObject): boolean {
  const settled = status?.conditions?.find(({ type }) => type === 'Settled')
  return metadata.deletionTimestamp !== undefined || settled?.status === 'True'
}

/** Returns a state for each condition that is one while it is told, with its own reason and time. */
export function statesOfConditions(
  { status: { phase = '', conditions = [] } = {} }: StatefulObject,
  rules: KindConditions,
  now: number,
): readonly ObjectState[] {
  const those = conditions.filter((one) => rules[one.type]?.gauge === 'reason' && isTold(rules, one))
  return those.map(({ reason, lastTransitionTime }) => ({ phase, reason, since: fromTime(lastTransitionTime) ?? now }))
}
