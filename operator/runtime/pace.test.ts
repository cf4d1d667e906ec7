import { expect, it } from 'vitest'
import { Pace } from './pace.ts'

/** Returns when a caller that always tries is let through, within these milliseconds. */
function timesIn(pace: Pace, key: string, from: number, to: number): number[] {
  const times: number[] = []
  for (let now = from; now < to; now += 1) {
    while (pace.waitMs(key, now) === 0) {
      pace.take(key, now)
      times.push(now)
    }
  }
  return times
}

it('lets a burst through, and then one at a time', () => {
  expect(timesIn(new Pace(3, 10), 'a', 0, 35)).toEqual([0, 0, 0, 10, 20, 30])
})

it('lets a burst through again after a rest', () => {
  const pace = new Pace(3, 10)
  timesIn(pace, 'a', 0, 1)
  expect(timesIn(pace, 'a', 20, 21)).toEqual([20, 20])
  expect(timesIn(pace, 'a', 1_000, 1_001)).toEqual([1_000, 1_000, 1_000])
})

it('says how long to wait, to the millisecond', () => {
  const pace = new Pace(1, 10)
  pace.take('a', 0)
  expect(pace.waitMs('a', 4)).toBe(6)
  expect(pace.waitMs('a', 10)).toBe(0)
})

it('keeps the pace of a key apart from that of others, and through many of them', () => {
  const pace = new Pace(1, 10)
  pace.take('a', 0)
  for (let at = 0; at < 5_000; at += 1) pace.take(`k${at}`, 1)
  expect(pace.waitMs('a', 1)).toBe(9)
  expect(pace.waitMs('b', 1)).toBe(0)
})
