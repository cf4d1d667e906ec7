import { describe } from 'vitest'
import { runningPolicySuite } from './running-policy-suite.ts'

describe('an operator whose policy is written over and over', () => {
  runningPolicySuite(60)
})
