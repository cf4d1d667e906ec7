import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const BLOCK = /^```diff\n\+\+\+ (\S+)\n(.*?)^```$/gms

/** A change of a file by `docs/add-a-condition.md`: lines that are there, and what becomes of them. */
export interface RecipeChange {
  readonly path: string
  /** Empty: the file is new. */
  readonly before: string
  readonly after: string
}

/** What fails where the change of a file is left out; undefined: nothing. */
export interface LeftOut {
  /** Path of the file, or the command that is left out. */
  readonly what: string
  readonly fails: { readonly by: 'types' | 'test'; readonly path: string } | undefined
}

function recipe(): string {
  return readFileSync(join(ROOT, 'docs/add-a-condition.md'), 'utf8')
}

/** Returns all changes of the recipe, in their order. */
export function recipeChanges(): RecipeChange[] {
  return [...recipe().matchAll(BLOCK)].flatMap(([, path = '', block = '']) =>
    block.split('@@\n').map((part) => {
      const lines = part.split('\n').slice(0, -1)
      const without = lines.filter((line) => !line.startsWith('+'))
      const text = (some: readonly string[]) => some.map((line) => line.slice(1)).join('\n')
      return { path, before: text(without), after: text(lines) }
    }),
  )
}

/** Returns the rows of the table of what fails where something is left out. */
export function recipeOmissions(): LeftOut[] {
  const rows = recipe().matchAll(/^\| `([^`]+)` +\| (?:(types|test): `([^`]+)`|nothing) +\|$/gm)
  return [...rows].map(([, what = '', by, path = '']) => ({
    what,
    fails: by === 'types' || by === 'test' ? { by, path } : undefined,
  }))
}

/**
 * Returns the text of a file with a change of the recipe.
 * @param text undefined: there is no such file
 * @throws if the lines that the recipe goes by are not there, or there twice
 */
export function changedBy({ path, before, after }: RecipeChange, text: string | undefined): string {
  if (text === undefined && before === '') return `${after}\n`
  const parts = text === undefined || before === '' ? [] : `\n${text}`.split(`\n${before}`)
  if (parts.length !== 2)
    throw new Error(`${path} has ${Math.max(0, parts.length - 1)} times: ${before || 'a new file'}`)
  return parts.join(`\n${after}`).slice(1)
}
