import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { mutantSuite } from './mutant-suite.ts'
import { MUTANTS } from './mutants.ts'
import { INVARIANTS } from './oracle/oracle.ts'

const ROOT = join(import.meta.dirname, '..', '..')

it.each(MUTANTS)('$name: a change of one place', ({ file, find, replace }) => {
  const source = readFileSync(join(ROOT, file), 'utf8')
  expect(source.split(find)).toHaveLength(2)
  expect(replace).not.toBe(find)
})

it('has a mutant for every invariant', () => {
  expect(new Set(MUTANTS.map(({ invariant }) => invariant))).toEqual(new Set(INVARIANTS))
})

describe('a mutant', () => {
  mutantSuite(INVARIANTS.flatMap((invariant) => MUTANTS.find((mutant) => mutant.invariant === invariant) ?? []))
})
