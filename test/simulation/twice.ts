import type { Violation } from './oracle/oracle.ts'
import { type RunResult, runSchedule } from './run.ts'
import { type Schedule, withoutDisturbances } from './schedule.ts'
import { differences } from './settlement.ts'

/** Invariant 7: whatever harms the operator or its link to the API server, it all ends as if nothing had. */
export async function compareEnds(schedule: Schedule): Promise<RunResult> {
  return await runTwice(schedule, { isIdleChecked: false }, (disturbed, calm) =>
    differences(disturbed.ends.decided, calm.ends.decided),
  )
}

/** The same, and as much is written. For schedules without acts alone. */
export async function compareWrites(schedule: Schedule): Promise<RunResult> {
  return await runTwice(schedule, { isRetried: false }, (disturbed, calm) => [
    ...differences(disturbed.ends.whole, calm.ends.whole),
    ...[...calm.writes.keys()].flatMap((image) => differentWrites(image, disturbed, calm)),
  ])
}

/** What is counted is of the disturbed run alone. */
async function runTwice(
  schedule: Schedule,
  options: Parameters<typeof runSchedule>[1],
  compare: (disturbed: RunResult, calm: RunResult) => readonly string[],
): Promise<RunResult> {
  const disturbed = await runSchedule(schedule, options)
  if (disturbed.violations.length > 0) return disturbed
  const calm = await runSchedule(withoutDisturbances(schedule), options)
  if (calm.violations.length > 0) return calm
  const violations = compare(disturbed, calm).map(
    (message): Violation => ({ invariant: 7, message, atMs: disturbed.elapsedMs }),
  )
  return { ...disturbed, violations }
}

/**
 * As many writes as undisturbed, but for what follows from being disturbed:
 * - A create that is carried out late may find its name free again, when what it asked for is over. What it makes is deleted.
 * - A status tells of trouble with requests, and that it is over: no more often than there was trouble with this image, or with the creates
 *   of DataVolumes that were in front of its own. It may also leave a step out that nobody saw.
 */
function differentWrites(image: string, disturbed: RunResult, calm: RunResult): string[] {
  const [writes, usual] = [disturbed.writes.get(image) ?? {}, calm.writes.get(image) ?? {}]
  const { all = 0, late = {} } = disturbed.struck.get(image) ?? {}
  const inFront = [...disturbed.struck].reduce((sum, [other, { late: theirs }]) => {
    return other === image ? sum : sum + (theirs['create DataVolume'] ?? 0)
  }, 0)
  const surplus = (what: string) => (writes[what] ?? 0) - (usual[what] ?? 0)
  const mayDiffer = (what: string): readonly [least: number, most: number] => {
    const [verb, kind = ''] = what.split(' ')
    if (what === 'status') return [Number.NEGATIVE_INFINITY, all + inFront]
    if (verb === 'create') return [0, late[what] ?? 0]
    const stray = verb === 'delete' ? surplus(`create ${kind}`) : 0
    return [stray, stray]
  }
  const names = Object.keys({ ...usual, ...writes }).filter((what) => what !== 'place')
  return names.flatMap((what) => {
    const [least, most] = mayDiffer(what)
    if (surplus(what) >= least && surplus(what) <= most) return []
    return [`image ${image}: ${what} ${writes[what] ?? 0} times, undisturbed ${usual[what] ?? 0} times`]
  })
}
