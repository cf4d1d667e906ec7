import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { mutantSuite, QUICK_MUTANTS } from './mutant-suite.ts'
import { MUTANTS } from './mutants.ts'
import { INVARIANTS } from './oracle/oracle.ts'

describe('the seam of a mutant', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'seams-process.ts')])
  const uses: { name: string; exists: boolean; importers: string[] }[] = JSON.parse(stdout)

  it.each(uses)('exists, and other files of the product import it: $name', ({ exists, importers }) => {
    expect(exists).toBe(true)
    expect(importers).not.toEqual([])
  })

  it('is that of a mutant with a name of its own', () => {
    expect(new Set(uses.map(({ name }) => name)).size).toBe(MUTANTS.length)
  })
})

it('has a mutant for every invariant', () => {
  expect(new Set(MUTANTS.map(({ invariant }) => invariant))).toEqual(new Set(INVARIANTS))
})

describe('a mutant', () => {
  mutantSuite(QUICK_MUTANTS)
})
