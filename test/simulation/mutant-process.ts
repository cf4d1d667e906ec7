import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MUTANTS } from './mutants.ts'

// node test/simulation/mutant-process.ts <kind of schedules> <how many> [mutant]
//
// Runs schedules, with the product as it is or with one mutant of it, until one shows a breach of a promise. Says which, as
// one line of JSON. The product's files are never written: the mutation is done when the module is loaded.

const ROOT = join(import.meta.dirname, '..', '..')
const [kind = '', count = '1', name] = process.argv.slice(2)

const mutant = MUTANTS.find((one) => one.name === name)
if (name !== undefined && mutant === undefined) throw new Error(`there is no mutant "${name}"`)
let isLoaded = mutant === undefined
if (mutant !== undefined) {
  const path = join(ROOT, mutant.file)
  const [before = '', after, ...more] = readFileSync(path, 'utf8').split(mutant.find)
  if (after === undefined || more.length > 0) throw new Error(`${mutant.file} has to have one place: ${mutant.find}`)
  const source = before + mutant.replace + after
  const target = pathToFileURL(path).href
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (url !== target) return loaded
      isLoaded = true
      return { ...loaded, source }
    },
  })
}

// Only now: the hook has to be there before the product is loaded.
const { runStory } = await import('./story-run.ts')
const { storyOf } = await import('./story.ts')
for (let seed = 1; seed <= Number(count); seed += 1) {
  const { violations } = await runStory(storyOf(`${kind}:${seed}`))
  const [violation] = violations
  if (violation !== undefined) report({ isLoaded, seed, ...violation })
}
report({ isLoaded })

function report(result: object): never {
  process.stdout.write(`${JSON.stringify(result)}\n`)
  process.exit(0)
}
