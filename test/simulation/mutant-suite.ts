import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { Mutant } from './mutant.ts'
import type { Answer, Trial, Verdict } from './mutant-process.ts'
import { MUTANTS } from './mutants.ts'
import { INVARIANTS } from './oracle/oracle.ts'
import { type Kind, storyOf } from './story.ts'
import { runStory } from './story-run.ts'

/** Seeds of enough schedules for each mutant; most need one or two. */
const SEEDS = Array.from({ length: 40 }, (_, at) => at + 1)

/** One of each invariant, of `npm test`. */
export const QUICK_MUTANTS = INVARIANTS.flatMap((invariant) => MUTANTS.find((one) => one.invariant === invariant) ?? [])

export function mutantSuite(mutants: readonly Mutant[]): void {
  /** Processes that have loaded the product and wait for a trial. */
  const idle: ChildProcess[] = []
  /** Seeds of the schedules that detected a mutant, by kind. */
  const detecting = new Map<Kind, Set<number>>()

  afterAll(() => {
    for (const process of idle) process.kill()
  })

  it.concurrent.each(mutants)('is caught, by invariant $invariant: $name', async (mutant) => {
    const { name, kind } = mutant
    const first = mutant.seed === undefined ? [] : [mutant.seed]
    const trial: Trial = { name, seeds: [...new Set([...first, ...SEEDS])] }
    const process = idle.pop() ?? start()
    const answer = await answerOf(process, trial)
    idle.push(process)
    const { isUsed, seed, violation } = answer ?? (await verdictOfOwnProcess(trial))
    expect(isUsed).toBe(true)
    expect([mutant.invariant, ...(mutant.alsoCaughtAs ?? [])], violation?.message).toContain(violation?.invariant)
    if (seed !== undefined) detecting.set(kind, (detecting.get(kind) ?? new Set()).add(seed))
  })

  it('differs from the product, which passes the schedules that detected a mutant', async () => {
    expect(detecting.size).toBeGreaterThan(0)
    for (const [kind, seeds] of detecting)
      for (const seed of seeds) {
        const { violations } = await runStory(storyOf(`${kind}:${seed}`))
        expect(violations, `${kind}:${seed}`).toEqual([])
      }
  })
}

function start(...args: string[]): ChildProcess {
  return fork(join(import.meta.dirname, 'mutant-process.ts'), args, { execArgv: [] })
}

async function verdictOfOwnProcess(trial: Trial): Promise<Verdict> {
  const process = start(trial.name)
  const verdict = (await answerOf(process, trial)) as Verdict
  process.kill()
  return verdict
}

/** Rejects if the process ends instead, which has written why. */
async function answerOf(process: ChildProcess, trial: Trial): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const fail = (code: number | null) => reject(new Error(`the process of the mutant ended with ${code}`))
    process.once('exit', fail)
    process.once('message', (answer) => {
      process.off('exit', fail)
      resolve(answer as Answer)
    })
    process.send(trial)
  })
}
