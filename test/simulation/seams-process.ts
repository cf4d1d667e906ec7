import { registerHooks } from 'node:module'
import { MUTANTS } from './mutants.ts'

// node test/simulation/seams-process.ts
//
// Prints, as one line of JSON, which files of the product import the seam of each mutant: only these get the replacement.

/** The source of each module by URL, and what its specifiers resolve to. */
const sources = new Map<string, string>()
const meanings = new Map<string, string>()
const meaningOf = (specifier: string, importer = '') => `${importer} ${specifier}`
let asked: string | undefined
registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    asked ??= resolved.url
    meanings.set(meaningOf(specifier, context.parentURL), resolved.url)
    return resolved
  },
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    sources.set(url, String(loaded.source))
    return loaded
  },
})

const seams = new Map<string, { url: string; exported: string; exists: boolean }>()
for (const { name, seam } of MUTANTS) {
  asked = undefined
  const module = await seam.load()
  seams.set(name, { url: asked ?? '', exported: seam.exported, exists: seam.exported in module })
}
await import('../../operator/operator.ts')

/** `import { a, type B, c as d } from './file.ts'`, and the same with `export`. */
const IMPORTS = /^(?:import|export) \{([^}]*)\} from '([^']+)'/gm

function isImportedBy(importer: string, source: string, { url, exported }: { url: string; exported: string }): boolean {
  return [...source.matchAll(IMPORTS)].some(([, names = '', from = '']) => {
    const isFromThere = meanings.get(meaningOf(from, importer)) === url
    return isFromThere && names.split(',').some((one) => one.trim().split(' as ')[0] === exported)
  })
}

const uses = [...seams].map(([name, seam]) => {
  const importers = [...sources].filter(([url, source]) => isImportedBy(url, source, seam)).map(([url]) => url)
  return { name, exists: seam.exists, importers }
})
process.stdout.write(`${JSON.stringify(uses)}\n`)
