import { describe, expect, it } from 'vitest'
import { amountOf } from './resource-amounts.ts'

describe('an amount of CPU', () => {
  it.each([
    ['2', 2_000n],
    ['2.007', 2_007n],
    ['1.1', 1_100n],
    ['.5', 500n],
    ['0.0001', 1n],
    ['250m', 250n],
    ['1.5m', 2n],
    ['2k', 2_000_000n],
  ])('%s is counted in thousandths, exactly, and rounded up', (quantity, amount) => {
    expect(amountOf('requests.cpu', quantity)).toBe(amount)
  })
})
