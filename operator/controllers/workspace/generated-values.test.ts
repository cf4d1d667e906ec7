import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { drawValue } from './generated-values.ts'

it('each value has its length, and a small letter, a capital letter and a digit, none of which looks like another', () => {
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 128 }), (length) => {
      const value = drawValue(length, (max) => randomInt(max))
      expect(value).toMatch(/^[a-km-zA-HJ-NP-Z][a-km-zA-HJ-NP-Z2-9]*$/)
      expect(value).toHaveLength(length)
      for (const one of [/[a-z]/, /[A-Z]/, /[2-9]/]) expect(value).toMatch(one)
    }),
  )
})

it('draws again what lacks a kind of characters, and never from anything but what it is given', () => {
  const draws = [...Array<number>(8).fill(0), 0, 30, 50, ...Array<number>(5).fill(0)]
  expect(drawValue(8, () => draws.shift() ?? Number.NaN)).toMatch(/^a[A-Z][2-9]a{5}$/)
  expect(draws).toEqual([])
})
