import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const LINES_MAX = 350
/** The logic of a controller is in its parts. The file itself only assembles them. */
const CONTROLLER_LINES_MAX = 120
/** Of the simplest kind, DataSyncs: the rest of what a kind needs is shared by all kinds. */
const KIND_LINES_MAX = 500

const isProduct = (file: string) => !/\.(test|fixtures)\.ts$|(^|\/)(node_modules|dist|generated)\//.test(file)

function linesOf(file: string): number {
  return readFileSync(join(ROOT, file), 'utf8').trimEnd().split('\n').length
}

/** Files with more lines than they may have, each with its lines. */
function tooLong(files: readonly string[], most: number): string[] {
  return files.flatMap((file) => (linesOf(file) > most ? `${file}: ${linesOf(file)}` : []))
}

it('no file of the product has more lines than can be kept in mind', () => {
  const files = globSync('{operator,constructs,infra,crds-gen}/**/*.ts', { cwd: ROOT }).filter(isProduct)
  expect(files.length).toBeGreaterThan(200)
  expect(tooLong(files, LINES_MAX)).toEqual([])
})

it('the controller of each kind only puts its parts together', () => {
  const files = globSync('operator/controllers/*/controller.ts', { cwd: ROOT })
  expect(files.length).toBeGreaterThanOrEqual(4)
  expect(tooLong(files, CONTROLLER_LINES_MAX)).toEqual([])
})

it('a simple kind needs little of its own', () => {
  const files = globSync('operator/controllers/data-sync/**/*.ts', { cwd: ROOT }).filter(isProduct)
  const lines = files.reduce((sum, file) => sum + linesOf(file), 0)
  expect(lines).toBeGreaterThan(100)
  expect(lines).toBeLessThanOrEqual(KIND_LINES_MAX)
})
