import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bounded, keptFinalizers, picked } from './foreign.ts'

const VIEW = { apiVersion: 'v1', kind: 'K', metadata: { name: 'a', namespace: 'n' }, phase: 'x', spec: {} as unknown }

/** Returns the number of characters of all texts and names in a value. */
function size(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value).reduce((sum, [key, one]) => sum + size(one) + (Array.isArray(value) ? 0 : key.length), 0)
}

describe('an object in a cache', () => {
  it('is kept as it is where it is no larger than any of ours', () => {
    expect(bounded(VIEW, 8_000)).toBe(VIEW)
  })

  it.each([
    ['a long text', 'x'.repeat(1_500_000)],
    ['many texts', Array.from({ length: 100_000 }, (_, index) => `text ${index}`)],
    ['a long list of nothing', Array.from({ length: 100_000 }, () => null)],
    ['many members', Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key-${index}`, 1]))],
    ['lists in lists', Array.from({ length: 50_000 }).reduce((inner) => [inner], [])],
    ['deep members', Array.from({ length: 5_000 }).reduce((inner) => ({ [`${'k'.repeat(300)}`]: inner }), {})],
  ])('is cut where it has %s', (_what, spec) => {
    const kept = bounded({ ...VIEW, spec }, 8_000)
    expect(size(kept)).toBeLessThan(8_100)
    expect(JSON.stringify(kept).length).toBeLessThan(60_000)
    expect(kept).toMatchObject({ ...VIEW, spec: expect.anything() })
  })

  it('keeps the members that every view has, whatever stands before them', () => {
    const metadata = { name: 'x'.repeat(1_000_000), namespace: 'n', labels: { a: 'b' } }
    const kept = bounded({ metadata, phase: 'p', running: { message: 'm' } }, 8_000)
    expect(kept).toMatchObject({ metadata: { namespace: '' }, phase: '', running: { message: '' } })
  })

  it('is never larger than its bound, and of the same shape, whatever it is', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), fc.nat(300), (view, max) => {
        const kept = bounded(view, max)
        if (Object.keys(view).length <= 32) expect(Object.keys(kept)).toEqual(Object.keys(view))
        for (const [key, value] of Object.entries(kept)) expect(typeof value).toBe(typeof view[key])
        if (size(view) <= max / 2) expect(kept).toEqual(view)
      }),
    )
  })
})

describe('annotations', () => {
  it('are those that matter, as long as ours get', () => {
    expect(picked({ a: 'x'.repeat(300_000), b: 'y', c: 'z' }, ['a', 'c'])).toEqual({ a: 'x'.repeat(253), c: 'z' })
    expect(picked({ b: 'y' }, ['a'])).toBeUndefined()
    expect(picked(undefined, ['a'])).toBeUndefined()
  })
})

describe('finalizers', () => {
  it('are all there while they are few', () => {
    const few = ['a', 'b']
    expect(keptFinalizers(few, new Set(['b']))).toBe(few)
    expect(keptFinalizers(undefined, new Set())).toBeUndefined()
  })
})
