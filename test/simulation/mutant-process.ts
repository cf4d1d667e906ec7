import type { Mutant } from './mutant.ts'
import { MUTANTS } from './mutants.ts'
import type { Violation } from './oracle/oracle.ts'
import { isFunction, openSeams, withReplacement } from './seam-hook.ts'

// node test/simulation/mutant-process.ts <mutant> <seeds, such as 3,1,2>
//
// Runs the schedules of these seeds on a mutant of the product, until one breaks an invariant. Prints which, as one line of JSON.
// A process that was forked takes one trial after the other instead: to load the product is more work than most mutants are.
// The files of the product are never written: the seams are opened when the modules are loaded.

export interface Trial {
  /** Name of the mutant. */
  readonly name: string
  readonly seeds: readonly number[]
}

export interface Verdict {
  /** Whether the product used the replacement of the mutant's seam. */
  readonly isUsed: boolean
  /** Seed of the schedule that broke an invariant. This and the next field are absent if none did. */
  readonly seed?: number
  readonly violation?: Violation
}

/** Null if the seam is not a function: such a mutant has a process of its own, which has its name, and has the replacement from the beginning. */
export type Answer = Verdict | null

const [own, seeds = '1'] = process.argv.slice(2)
await openSeams(
  MUTANTS.map(({ seam }) => seam),
  own === undefined ? undefined : mutantOf(own).seam,
)

// Imported only now, because the seams must be open before the product is loaded.
const { runStory } = await import('./story-run.ts')
const { storyOf } = await import('./story.ts')

if (process.send !== undefined) {
  // If an answer fails, the process ends, and the parent sees that.
  process.on('message', (trial: Trial) => void answerTo(trial).then((answer) => process.send?.(answer)))
} else if (own !== undefined) {
  const answer = await answerTo({ name: own, seeds: seeds.split(',').map(Number) })
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

async function answerTo(trial: Trial): Promise<Answer> {
  const { seam, kind } = mutantOf(trial.name)
  if (own === undefined && !isFunction(seam)) return null
  const { result, isUsed } = await withReplacement(seam, async () => {
    for (const seed of trial.seeds) {
      const { violations } = await runStory(storyOf(`${kind}:${seed}`))
      const [violation] = violations
      if (violation !== undefined) return { seed, violation }
    }
    return {}
  })
  return { isUsed, ...result }
}

function mutantOf(name: string): Mutant {
  const mutant = MUTANTS.find((one) => one.name === name)
  if (mutant === undefined) throw new Error(`there is no mutant "${name}"`)
  return mutant
}
