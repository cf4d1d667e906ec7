import { expect, it } from 'vitest'
import { bytesOf, withFilesystemOverhead } from './quantity.ts'

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
