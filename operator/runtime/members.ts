import { firstFew } from './first-few.ts'

/** One of the parts that an object is the sum of, as its status tells of it. */
export interface Member<P extends string> {
  readonly title: string
  readonly phase: P
  readonly reason: string
}

/** More of them are only counted. */
const SHOWN_MAX = 3

/** How many are in each phase, under its name in lower case, and in all. */
export function countsOf<P extends string>(
  phases: readonly P[],
  members: readonly Member<P>[],
): Record<'total' | Lowercase<P>, number> {
  const count = (phase: P) => [phase.toLowerCase(), members.filter((one) => one.phase === phase).length]
  return { total: members.length, ...Object.fromEntries(phases.map(count)) }
}

/** `2/3`: so many of them are in the phase. */
export function shareIn<P extends string>(phase: P, members: readonly Member<P>[]): string {
  return `${members.filter((one) => one.phase === phase).length}/${members.length}`
}

/** Who is in the phase, and why: `Failed: a (NotFound), b (Stalled)`. Empty where nobody is. No live numbers: a status is not written for them. */
export function listed<P extends string>(phase: P, members: readonly Member<P>[]): string {
  const those = members.filter((one) => one.phase === phase).map(({ title, reason }) => `${title} (${reason})`)
  return those.length === 0 ? '' : `${phase}: ${firstFew(those, SHOWN_MAX)}`
}
