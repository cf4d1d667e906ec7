import { describe } from 'vitest'
import { roundTripSuite } from './round-trip-suite.ts'

describe('renderCloudInit', () => {
  roundTripSuite(3_000)
})
