import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['1ms', 1],
    ['500ms', 500],
    ['45s', 45_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['30m1h', 5_400_000],
    ['1.5h', 5_400_000],
    ['1h0m0.5s', 3_600_500],
    ['0.001s', 1],
    ['72h', 259_200_000],
    ['9999999h', 9_999_999 * 3_600_000],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([
    '',
    '5',
    '00',
    '-5m',
    '+5m',
    ' 5m',
    '5m ',
    '5 m',
    '5min',
    '1d',
    '1us',
    '1µs',
    '1ns',
    'h',
    '.5h',
    '5.h',
    '1e3s',
    '1H',
    '99999999h',
    '1h1h1h1h1h',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [1, '1ms'],
    [1_500, '1s500ms'],
    [300_000, '5m'],
    [5_400_000, '1h30m'],
    [259_200_000, '72h'],
    [-1, '0s'],
    [0.4, '0s'],
  ])('%d ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it.each(['1ms', '1s500ms', '5m', '1h30m', '72h', '1h1m1s1ms'])('gives back what parseDuration read: %s', (text) => {
    expect(formatDuration(parseDuration(text) ?? Number.NaN)).toBe(text)
  })
})
