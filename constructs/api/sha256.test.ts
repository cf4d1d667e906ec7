import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { sha256Hex } from './sha256.ts'

/** Lengths around the boundaries of the padding. */
it.each([0, 1, 2, 27, 28, 31, 32, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000])(
  'hashes %i characters as Node does',
  (length) => {
    for (const letter of ['a', 'ä', '漢']) {
      const text = letter.repeat(length)
      expect(sha256Hex(text)).toBe(createHash('sha256').update(text).digest('hex'))
    }
  },
)
