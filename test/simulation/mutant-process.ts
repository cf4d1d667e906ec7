import { MUTANTS } from './mutants.ts'
import { isUsed, mutate } from './seam-hook.ts'

// node test/simulation/mutant-process.ts <kind of schedules> <seeds, such as 3,1,2> [mutant]
//
// Runs the schedules of these seeds on the product, or on one mutant of it, until one breaks an invariant. Prints which, as one line of JSON.
// The files of the product are never written: the mutation happens when the module is loaded.

const [kind = '', seeds = '1', name] = process.argv.slice(2)

const mutant = MUTANTS.find((one) => one.name === name)
if (name !== undefined && mutant === undefined) throw new Error(`there is no mutant "${name}"`)
if (mutant !== undefined) await mutate(mutant.seam)

// Imported only now, because the hook must be registered before the product is loaded.
const { runStory } = await import('./story-run.ts')
const { storyOf } = await import('./story.ts')
for (const seed of seeds.split(',').map(Number)) {
  const { violations } = await runStory(storyOf(`${kind}:${seed}`))
  const [violation] = violations
  if (violation !== undefined) report({ seed, ...violation })
}
report({})

function report(result: object): never {
  process.stdout.write(`${JSON.stringify({ isUsed: mutant === undefined || isUsed(), ...result })}\n`)
  process.exit(0)
}
