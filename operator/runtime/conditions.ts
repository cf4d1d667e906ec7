import { redactUrls } from '../base/messages.ts'
import { toTime } from '../base/time.ts'

/** One condition of a status, as in every Kubernetes API. */
export interface StatusCondition<Type extends string = string> {
  readonly type: Type
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number | undefined
  /** RFC 3339. */
  readonly lastTransitionTime?: string | undefined
}

/** A condition without its times and its generation. */
type NewCondition = Omit<StatusCondition, 'lastTransitionTime' | 'observedGeneration'>

/**
 * What is true of the conditions of a kind, by type. Each kind declares it once, as `ConditionRules` in `constructs/api/<kind>-status.ts`. These are the
 * members that the runtime reads: it knows no kind of Open Terrain.
 */
export type KindConditions = Readonly<
  Record<
    string,
    {
      readonly presence: 'always' | 'passing' | 'lasting'
      readonly told: 'whenTrue' | 'whenFalse' | 'never'
      readonly gauge: 'phase' | 'reason' | 'none'
      readonly reasons?: readonly string[]
    }
  >
>

/** What is said of one condition. */
export interface Saying<Reason extends string = string> {
  readonly status: StatusCondition['status']
  readonly reason: Reason
  readonly message: string
}

/** What may be said of one condition: its own reasons, or any reason of the kind where it has none. */
export type SayingOf<Rule, Reason extends string> = Saying<
  Rule extends { readonly reasons: readonly (infer Own extends string)[] } ? Own : Reason
>

/**
 * What a plan says of each condition of a kind. Undefined: nothing. A condition that is passing is then taken away, and any other one stays as it was. One
 * that is declared and not named does not compile.
 */
export type Sayings<Rules extends KindConditions, Reason extends string> = {
  readonly [Type in keyof Rules]: SayingOf<Rules[Type], Reason> | undefined
}

/** Returns what is said of a condition: whether it holds, and why. */
export function saying<Reason extends string>(
  holds: boolean,
  { reason, message }: { readonly reason: Reason; readonly message: string },
): Saying<Reason> {
  return { status: holds ? 'True' : 'False', reason, message }
}

/** Returns what was said of a condition, to say it again. It had one of its reasons then. */
export function saidBefore(
  conditions: readonly StatusCondition[] | undefined,
  type: string,
): Saying<never> | undefined {
  return conditions?.find((one) => one.type === type) as Saying<never> | undefined
}

/** Returns the conditions of a status: what is said now, in that order, then what stays of those before. */
export function conditionsOf<Rules extends KindConditions>(
  rules: Rules,
  said: Sayings<NoInfer<Rules>, string>,
  before: readonly StatusCondition[] | undefined,
  { generation, now }: { readonly generation: number | undefined; readonly now: number },
): StatusCondition<keyof Rules & string>[] {
  const wanted: NewCondition[] = []
  for (const type in said) {
    const one: Saying | undefined = said[type]
    if (one !== undefined) wanted.push({ type, ...one })
  }
  const isOver = (type: string) => rules[type]?.presence === 'passing' && said[type] === undefined
  const known = (before ?? []).filter(({ type }) => !isOver(type))
  return mergeConditions(known, wanted, generation, now) as StatusCondition<keyof Rules & string>[]
}

/** Reports whether a condition says now what people should know of beside phase and reason. One of another version is told when it is True. */
export function isTold(rules: KindConditions, { type, status }: Pick<StatusCondition, 'type' | 'status'>): boolean {
  const { told } = rules[type] ?? { told: 'whenTrue' }
  return told !== 'never' && status === (told === 'whenTrue' ? 'True' : 'False')
}

/** Sets or replaces conditions. The transition time changes only with the status. Other conditions stay. */
export function mergeConditions(
  before: readonly StatusCondition[],
  wanted: readonly NewCondition[],
  generation: number | undefined,
  now: number,
): StatusCondition[] {
  const next = wanted.map((condition) => {
    const old = before.find(({ type }) => type === condition.type)
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : toTime(now)
    return { ...condition, ...(generation !== undefined && { observedGeneration: generation }), lastTransitionTime }
  })
  const kept = before.filter(({ type }) => !wanted.some((condition) => condition.type === type))
  return [...next, ...kept]
}

const MESSAGE_MAX = 4_000

/** Redacts and cuts a message for a status. The API server rejects a whole status if a message is longer. */
export function cutMessage(message: string): string {
  return redactUrls(message, MESSAGE_MAX)
}
