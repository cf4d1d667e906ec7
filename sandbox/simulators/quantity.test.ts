import { describe, expect, it } from 'vitest'
import { bytesOf, canonicalQuantity, withFilesystemOverhead } from './quantity.ts'

it('knows the sizes that CDI asks for', () => {
  expect(withFilesystemOverhead('1Gi')).toBe('1138166334')
  expect(withFilesystemOverhead('nonsense')).toBe('nonsense')
})

it.each([
  ['1Gi', 1073741824],
  ['1.5Mi', 1572864],
  ['10M', 10_000_000],
  ['7', 7],
  ['', undefined],
  ['1x', undefined],
])('reads %s', (quantity, bytes) => {
  expect(bytesOf(quantity)).toBe(bytes)
})

describe('canonicalQuantity', () => {
  it.each([
    ['2048Mi', '2Gi'],
    ['1.5Gi', '1536Mi'],
    ['2Gi', '2Gi'],
    ['2G', '2G'],
    ['500m', '500m'],
    [2, '2'],
    ['much', 'much'],
  ])('writes %s as %s', (quantity, canonical) => {
    expect(canonicalQuantity(quantity)).toBe(canonical)
  })
})
