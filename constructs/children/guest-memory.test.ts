import { describe, expect, it } from 'vitest'
import { guestMemory } from './guest-memory.ts'

describe('guestMemory', () => {
  it.each([
    ['2Gi', '2Gi'],
    ['2048Mi', '2Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['2G', '2G'],
    ['1500M', '1500M'],
    ['2000M', '2G'],
    ['2e9', '2G'],
    ['2147483648', '2147483648'],
  ])('%s is stored as %s', (memory, stored) => {
    expect(guestMemory(memory)).toBe(stored)
  })

  it.each(['0', '-1Gi', 'much'])('refuses %s', (memory) => {
    expect(() => guestMemory(memory)).toThrow(`memory "${memory}" is no quantity above 0`)
  })
})
