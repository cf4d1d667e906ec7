import type { Violation } from './oracle/oracle.ts'
import { type RunResult, runSchedule } from './run.ts'
import { type Schedule, withoutDisturbances } from './schedule.ts'
import { differences } from './settlement.ts'

/** Invariant 7: whatever disturbs the operator or its link to the API server, the end state is the same as without disturbances. */
export async function compareEnds(schedule: Schedule): Promise<RunResult> {
  return await runTwice(schedule, { isIdleChecked: false }, (disturbed, calm) =>
    differences(disturbed.ends.decided, calm.ends.decided),
  )
}

/** The same, and with the same number of writes. Only for schedules without acts. */
export async function compareWrites(schedule: Schedule): Promise<RunResult> {
  return await runTwice(schedule, { isRetried: false }, (disturbed, calm) => [
    ...differences(disturbed.ends.whole, calm.ends.whole),
    ...[...calm.writes.keys()].flatMap((image) => differentWrites(image, disturbed, calm)),
  ])
}

/** Counts are those of the disturbed run alone, or of the calm one if that has violations. */
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
 * Returns numbers of writes that differ from those of the calm run, except for these effects of disturbances:
 * - A create that is carried out late can find its name free again, after its purpose is over. What it creates is deleted.
 * - A status reports trouble with requests, and its end: at most once for each fault that hit this image, and for each late create of
 *   another image's DataVolume, which can be in front of its own. It can also skip a step that nobody saw.
 * - Through API servers that lag behind, CDI does not seem to act: at most once for each time that they do.
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
    if (what === 'silence') return [0, all + (disturbed.events.get('laggingServer') ?? 0)]
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
