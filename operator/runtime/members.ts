import { firstFew } from '../base/messages.ts'

/** One of the parts that make up an object, as the object's status reports it. */
export interface Member<P extends string> {
  readonly title: string
  readonly phase: P
  readonly reason: string
}

/** Further members are only counted. */
const SHOWN_MAX = 3

/** Returns the number of members in each phase, by its lower-case name, and in total. */
export function countsOf<P extends string>(
  phases: readonly P[],
  members: readonly Member<P>[],
): Record<'total' | Lowercase<P>, number> {
  const count = (phase: P) => [phase.toLowerCase(), members.filter((one) => one.phase === phase).length]
  return { total: members.length, ...Object.fromEntries(phases.map(count)) }
}

/** Returns how many members are in the phase, as `2/3`. */
export function shareIn<P extends string>(phase: P, members: readonly Member<P>[]): string {
  return `${members.filter((one) => one.phase === phase).length}/${members.length}`
}

/** Lists the members in a phase: `Failed: a (NotFound), b (Stalled)`. Empty if none. No live numbers: a status is not written for those. */
export function listed<P extends string>(phase: P, members: readonly Member<P>[]): string {
  const those = members.filter((one) => one.phase === phase).map(({ title, reason }) => `${title} (${reason})`)
  return those.length === 0 ? '' : `${phase}: ${firstFew(those, SHOWN_MAX)}`
}
