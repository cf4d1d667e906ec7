import { describe, expect, it } from 'vitest'
import { ownsEqual } from './owned-fields.ts'

describe('what we want is there', () => {
  it.each<[string, unknown, unknown]>([
    ['as it is', { a: { b: 1 } }, { a: { b: 1 } }],
    ['beside what others added', { a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }],
    ['in another order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }],
    ['where we want nothing of a field', { a: undefined }, { a: 1 }],
    ['in lists', { a: [{ b: 1 }] }, { a: [{ b: 1, c: 2 }] }],
    ['as an empty object', { blank: {} }, { blank: {} }],
  ])('%s', (_name, wanted, actual) => {
    expect(ownsEqual(wanted, actual)).toBe(true)
  })

  it.each<[string, unknown, unknown]>([
    ['is another value', { a: 1 }, { a: 2 }],
    ['is missing', { a: 1 }, {}],
    ['is of another type', { a: '1' }, { a: 1 }],
    ['is a longer list', { a: [1] }, { a: [1, 2] }],
    ['is a shorter list', { a: [1, 2] }, { a: [1] }],
    ['is a list in another order', { a: [1, 2] }, { a: [2, 1] }],
    ['is null', { a: {} }, { a: null }],
    ['is no list', { a: [] }, { a: {} }],
    ['is missing as an object', { a: { b: undefined } }, {}],
  ])('but not where it %s', (_name, wanted, actual) => {
    expect(ownsEqual(wanted, actual)).toBe(false)
  })
})
