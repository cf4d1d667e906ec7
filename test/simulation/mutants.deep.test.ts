import { describe } from 'vitest'
import { mutantSuite } from './mutant-suite.ts'
import { MUTANTS } from './mutants.ts'

describe('a mutant', () => {
  mutantSuite(MUTANTS)
})
