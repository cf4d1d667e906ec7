import { describe, expect, it } from 'vitest'
import { leastSquares, median, percentile, quotients } from './statistics.ts'

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at)
  it.each([
    [0, 1],
    [0.5, 50],
    [0.99, 99],
    [1, 100],
  ])('%d of 1 to 100 is %d', (share, value) => {
    expect(percentile(hundred, share)).toBe(value)
  })

  it('is a value that was measured, also of few', () => {
    expect(percentile([3, 1], 0.5)).toBe(1)
    expect(percentile([7], 0.99)).toBe(7)
    expect(median([5, 1, 9, 7])).toBe(5)
  })

  it('is not a number where nothing was measured', () => {
    expect(percentile([], 0.5)).toBeNaN()
  })
})

describe('quotients', () => {
  it('divides each value by the one beside it', () => {
    expect(quotients([6, 10], [3, 4])).toEqual([2, 2.5])
  })

  it('are not numbers where there was nothing to compare with', () => {
    expect(quotients([6, 10], [3])).toEqual([2, Number.NaN])
    expect(quotients([6], [percentile([], 0.5)])).toEqual([Number.NaN])
  })
})

describe('leastSquares', () => {
  it('finds the line that points lie on', () => {
    const points = [0, 1, 2, 5].map((x) => ({ x, y: 3 - 2 * x }))
    expect(leastSquares(points)).toEqual({ slope: -2, intercept: 3 })
  })

  it('goes between points that lie on none', () => {
    const points = [
      { x: 0, y: 0 },
      { x: 1, y: 3 },
      { x: 2, y: 0 },
    ]
    expect(leastSquares(points)).toEqual({ slope: 0, intercept: 1 })
  })

  it('has no slope where all x are the same', () => {
    const points = [
      { x: 1, y: 1 },
      { x: 1, y: 3 },
    ]
    expect(leastSquares(points)).toEqual({ slope: 0, intercept: 2 })
  })
})
