import { expect, it } from 'vitest'
import { KeyRateLimiter } from './key-rate-limiter.ts'

/** Returns when a caller that always tries is let through, within these milliseconds. */
function timesIn(limiter: KeyRateLimiter, key: string, from: number, to: number): number[] {
  const times: number[] = []
  for (let now = from; now < to; now += 1) {
    while (limiter.waitMs(key, now) === 0) {
      limiter.take(key, now)
      times.push(now)
    }
  }
  return times
}

it('lets a burst through, and then one at a time', () => {
  expect(timesIn(new KeyRateLimiter(3, 10), 'a', 0, 35)).toEqual([0, 0, 0, 10, 20, 30])
})

it('lets a burst through again after a rest', () => {
  const limiter = new KeyRateLimiter(3, 10)
  timesIn(limiter, 'a', 0, 1)
  expect(timesIn(limiter, 'a', 20, 21)).toEqual([20, 20])
  expect(timesIn(limiter, 'a', 1_000, 1_001)).toEqual([1_000, 1_000, 1_000])
})

it('says how long to wait, to the millisecond', () => {
  const limiter = new KeyRateLimiter(1, 10)
  limiter.take('a', 0)
  expect(limiter.waitMs('a', 4)).toBe(6)
  expect(limiter.waitMs('a', 10)).toBe(0)
})

it('keeps the limiter of a key apart from that of others, and through many of them', () => {
  const limiter = new KeyRateLimiter(1, 10)
  limiter.take('a', 0)
  for (let at = 0; at < 5_000; at += 1) limiter.take(`k${at}`, 1)
  expect(limiter.waitMs('a', 1)).toBe(9)
  expect(limiter.waitMs('b', 1)).toBe(0)
})
