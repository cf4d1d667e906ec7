import { describe } from 'vitest'
import { mutantSuite, QUICK_MUTANTS } from './mutant-suite.ts'
import { MUTANTS } from './mutants.ts'

describe('a mutant', () => {
  mutantSuite(MUTANTS.filter((mutant) => !QUICK_MUTANTS.includes(mutant)))
})
