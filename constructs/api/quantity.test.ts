import { describe, expect, it } from 'vitest'
import { compareQuantities, parseMilliQuantity, parseQuantity, QUANTITY_PATTERN } from './quantity.ts'

const VALID: readonly (readonly [string, bigint])[] = [
  ['0', 0n],
  ['1', 1n],
  ['007', 7n],
  ['1048576', 1048576n],
  ['+5', 5n],
  ['-5', -5n],
  ['1Ki', 1024n],
  ['1Mi', 2n ** 20n],
  ['24Gi', 24n * 2n ** 30n],
  ['1Ti', 2n ** 40n],
  ['1Pi', 2n ** 50n],
  ['7Ei', 7n * 2n ** 60n],
  ['1k', 1000n],
  ['1M', 10n ** 6n],
  ['1G', 10n ** 9n],
  ['1T', 10n ** 12n],
  ['1P', 10n ** 15n],
  ['1E', 10n ** 18n],
  ['1.5Gi', 1610612736n],
  ['.5Gi', 536870912n],
  ['5.Gi', 5n * 2n ** 30n],
  ['0.1', 1n],
  ['1.0000001', 2n],
  ['-0.1', -1n],
  ['1m', 1n],
  ['1500m', 2n],
  ['1u', 1n],
  ['1n', 1n],
  ['0m', 0n],
  ['2e3', 2000n],
  ['2E3', 2000n],
  ['2e+3', 2000n],
  ['2500e-3', 3n],
  ['1.5e1', 15n],
  ['1e-60', 1n],
  ['9223372036854775807', 2n ** 63n - 1n],
]

const INVALID = [
  '',
  ' ',
  '.',
  '+',
  '-',
  'Gi',
  '1 Gi',
  ' 1Gi',
  '1Gi ',
  '1gi',
  '1GI',
  '1KI',
  '1K',
  '1ki',
  '1B',
  '1GiB',
  '1e',
  '1e1.5',
  '1e3Gi',
  '1,5',
  '0x10',
  '--1',
  '1_000',
  'NaN',
  'Infinity',
  '٣',
  '9223372036854775808',
  '8Ei',
  '10E',
  '1e999999999',
  '1e-999999999',
  '1'.repeat(65),
]

describe('parseQuantity', () => {
  it.each(VALID)('reads %s as %d', (text, size) => {
    expect(parseQuantity(text)).toBe(size)
    expect(text).toMatch(new RegExp(QUANTITY_PATTERN))
  })

  it.each(INVALID)('refuses %j', (text) => {
    expect(parseQuantity(text)).toBeUndefined()
  })
})

describe('compareQuantities', () => {
  it.each([
    ['1Gi', '1024Mi', 0],
    ['1G', '1Gi', -1],
    ['24Gi', '18Gi', 1],
    ['1', 'x', undefined],
    ['x', '1', undefined],
  ])('%s against %s is %s', (a, b, order) => {
    expect(compareQuantities(a, b)).toBe(order)
  })
})

describe('parseMilliQuantity', () => {
  it.each([
    ['500m', 500n],
    ['0.05', 50n],
    ['2', 2000n],
    ['1500u', 2n],
    ['1k', 1_000_000n],
    ['x', undefined],
  ])('%s is %s thousandths', (text, thousandths) => {
    expect(parseMilliQuantity(text)).toBe(thousandths)
  })
})
