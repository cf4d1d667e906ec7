import { expect, it } from 'vitest'
import { backoffMs } from './backoff.ts'

it.each([
  [0, 0, 50],
  [0, 1, 100],
  [1, 1, 200],
  [2, 0, 200],
  [4, 1, 1_600],
  [20, 1, 5_000],
  [100_000, 1, 5_000],
  [100_000, 0, 2_500],
])('waits for attempt %i at chance %d: %d ms', (attempt, chance, ms) => {
  expect(backoffMs(attempt, 100, 5_000, () => chance)).toBe(ms)
})
