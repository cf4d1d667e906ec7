import { readFileSync } from 'node:fs'
import { commandOptions } from '../../sandbox/command-options.ts'
import { commitFact, hardwareFacts, loadFact } from '../bench/machine.ts'
import { Campaign, conclusionOf } from './campaign.ts'
import { runGate } from './gate/gate-run.ts'
import { gateStory } from './gate/gate-story.ts'
import { describeViolations, type Violation } from './oracle/oracle.ts'
import { replayOf, writeReport } from './report.ts'
import type { Schedule } from './schedule.ts'
import { shrink } from './shrink.ts'
import { howToRun, isOfGate, scheduleOf, storyOf } from './story.ts'
import { runWhole } from './story-run.ts'
import { type StoryResult, type Tally, totalOf, wholeAdmissionsOf } from './tally.ts'

const PROGRESS_MS = 10_000
const USAGE = `usage: npm run simulate -- [--admissions N] [--seed S] [--workers N] [--gates N] [--stop] [--report FILE]
       npm run simulate -- --replay KIND:SEED|FILE [--as KIND] [--shrink MINUTES]
  Runs random schedules until so many images were admitted by the whole operator, at most half of them in one kind of schedules, and checks the invariants; the report says which of them where.
  --admissions N    of the whole operator; default 5000
  --seed S          of the first schedule; default: a new one
  --workers N       child processes; default 1
  --gates N         stories of the gate alone from one of the whole operator to the next; default 2
  --stop            ends with the first finding
  --report FILE     writes the report there, for example docs/simulation.md
  --replay          runs one schedule again: one that was named, or one that is in a file as JSON
  --as KIND         runs the schedule in a file as those of this kind are run; default varied
  --shrink MINUTES  looks so long for a smaller schedule that breaks an invariant too, and prints it as JSON
`

const values = commandOptions(USAGE, {
  admissions: { type: 'string', default: '5000' },
  seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  workers: { type: 'string', default: '1' },
  // With this default, the whole operator has more than half of the CPU time.
  gates: { type: 'string', default: '2' },
  stop: { type: 'boolean', default: false },
  report: { type: 'string' },
  replay: { type: 'string' },
  as: { type: 'string', default: 'varied' },
  shrink: { type: 'string' },
})

const say = (line: string) => process.stdout.write(`${line}\n`)

if (values.replay === undefined) await explore()
else await replay(values.replay)

function wholeNumber(name: 'admissions' | 'seed' | 'workers' | 'gates'): number {
  if (/^[0-9]{1,10}$/.test(values[name])) return Number(values[name])
  throw new Error(`--${name} must be a whole number\n${USAGE}`)
}

async function explore(): Promise<void> {
  const [seed, admissions, workers] = [wholeNumber('seed'), wholeNumber('admissions'), wholeNumber('workers')]
  const gates = wholeNumber('gates')
  const facts = [
    ['commit', commitFact()],
    ['started', new Date().toISOString()],
    ['seed', String(seed)],
    ['workers', String(workers)],
    ['stories of the gate alone for each of the whole operator', String(gates)],
    ...hardwareFacts(),
    ['load average at the start (1, 5, 15 min)', loadFact()],
  ] as const
  say(`seed ${seed}, ${admissions} admissions`)
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1_000
  const onProgress = everySoOften((tally) => say(progressText(tally, seconds())))
  const isStoppedByFinding = values.stop
  const campaign = new Campaign({ seed, admissions, workers, gates, isStoppedByFinding, onFinding: tell, onProgress })
  const result = await campaign.run()
  say(progressText(result.tally, seconds()))
  const { isGood, sentences } = conclusionOf(result)
  for (const sentence of sentences) say(sentence)
  if (values.report !== undefined)
    writeReport(values.report, { ...result, facts: [...facts, ['duration', `${(seconds() / 60).toFixed(1)} min`]] })
  process.exitCode = isGood ? 0 : 1
}

function everySoOften(work: (tally: Tally) => void): (tally: Tally) => void {
  let last = performance.now()
  return (tally) => {
    if (performance.now() - last < PROGRESS_MS) return
    last = performance.now()
    work(tally)
  }
}

function progressText(tally: Tally, seconds: number): string {
  const admitted = wholeAdmissionsOf(tally)
  const all = `${totalOf(tally.schedules)} schedules, ${totalOf(tally.admissions)} admissions`
  return `${seconds.toFixed(0)} s: ${all}, of the whole operator ${admitted}, ${(admitted / seconds).toFixed(1)} a second`
}

function tell({ story, violations }: StoryResult): void {
  say(describeViolations(violations))
  say(`  again: ${replayOf(story)}\n  made small: ${replayOf(story)} --shrink 5`)
}

async function replay(name: string): Promise<void> {
  const story = name.endsWith('.json') ? undefined : storyOf(name)
  if (story !== undefined && isOfGate(story)) {
    const schedule = gateStory(story.kind, story.seed)
    const { violations } = await runGate(schedule)
    conclude(violations, schedule)
    return
  }
  const how = howToRun(story ?? storyOf(`${values.as}:0`))
  const schedule: Schedule = story === undefined ? JSON.parse(readFileSync(name, 'utf8')) : scheduleOf(story)
  const { violations } = await runWhole(schedule, how)
  const isBroken = async (smaller: Schedule) => (await runWhole(smaller, how)).violations.length > 0
  const forMs = Number(values.shrink ?? 0) * 60_000
  const isShrunk = violations.length > 0 && forMs > 0
  conclude(violations, isShrunk ? await shrink(schedule, isBroken, forMs) : schedule)
}

function conclude(violations: readonly Violation[], schedule: object): void {
  if (violations.length === 0) say('no invariant was broken')
  else {
    process.exitCode = 1
    say(JSON.stringify(schedule, undefined, 2))
    say(describeViolations(violations))
  }
}
