import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OverriddenValue, OverrideStep } from '../api/overrides.ts'
import { valueAtSteps, withOverrides, withoutValues } from './with-overrides.ts'

const field = fc.constantFrom('a', 'b', 'c', 'd')
const item = fc.constantFrom('x', 'y', 'z')
const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean())

/** Objects with a list of named items in every one, as the operator renders them. */
const object = fc.letrec<{ tree: object; value: unknown }>((tie) => ({
  tree: fc
    .tuple(
      fc.dictionary(field, tie('value') as fc.Arbitrary<unknown>, { maxKeys: 4, noNullPrototype: true }),
      fc.uniqueArray(fc.record({ name: item, a: fc.option(scalar, { nil: undefined }) }), {
        selector: ({ name }) => name,
      }),
    )
    .map(([fields, list]) => ({ ...fields, list })),
  value: fc.oneof({ maxDepth: 3 }, scalar, tie('tree')),
})).tree

const steps: fc.Arbitrary<readonly OverrideStep[]> = fc
  .tuple(fc.array(field, { maxLength: 2 }), fc.option(item, { nil: undefined }), field)
  .map(([above, name, last]) => [...above, ...(name === undefined ? [] : ['list', { key: 'name', item: name }]), last])

/** Values at places of which none is above another. */
const values: fc.Arbitrary<readonly OverriddenValue[]> = fc
  .uniqueArray(fc.tuple(steps, scalar), { maxLength: 4, selector: ([where]) => JSON.stringify(where) })
  .map((list) => list.filter(([where], at) => !list.some(([other], index) => index !== at && isAbove(other, where))))
  .map((list) => list.map(([where, value]) => ({ steps: where, value, isQuantity: false, among: undefined })))

function isAbove(one: readonly OverrideStep[], other: readonly OverrideStep[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other.slice(0, one.length))
}

describe('withOverrides', () => {
  it('is the same object where nothing is overridden', () => {
    fc.assert(
      fc.property(object, (one) => {
        expect(withOverrides(one, [])).toBe(one)
      }),
    )
  })

  it('has each value at its place, and changes nothing in place', () => {
    fc.assert(
      fc.property(object, values, (one, list) => {
        const before = JSON.stringify(one)
        const merged = withOverrides(one, list)
        for (const { steps: where, value } of list) expect(valueAtSteps(merged, where)).toEqual(value)
        expect(JSON.stringify(one)).toBe(before)
      }),
    )
  })

  it('is the same text when it is done again', () => {
    fc.assert(
      fc.property(object, values, (one, list) => {
        const merged = withOverrides(one, list)
        expect(JSON.stringify(withOverrides(merged, list))).toBe(JSON.stringify(merged))
      }),
    )
  })

  it('keeps fields and items that are there, in their order: what is new follows', () => {
    fc.assert(
      fc.property(object, values, (one, list) => {
        const merged = withOverrides(one, list) as { readonly list: readonly { readonly name: string }[] }
        const before = one as typeof merged
        expect(Object.keys(merged).slice(0, Object.keys(before).length)).toEqual(Object.keys(before))
        expect(merged.list.slice(0, before.list.length).map(({ name }) => name)).toEqual(
          before.list.map(({ name }) => name),
        )
      }),
    )
  })

  it('leaves everything else as it is', () => {
    fc.assert(
      fc.property(object, values, (one, list) => {
        const places = list.map(({ steps: where }) => where)
        // A value that is no object makes room for one, and an item that is not there is added.
        fc.pre(
          places.every((where) =>
            where.every((step, at) => isOpen(step, valueAtSteps(one, where.slice(0, at + 1)), at === where.length - 1)),
          ),
        )
        const left = withoutValues(withOverrides(one, list), places)
        expect(left).toEqual(withoutValues(one, places))
      }),
    )
  })

  it('sets an empty object only where there is none', () => {
    const empty = [{ steps: ['a', 'b'], value: {}, isQuantity: false, among: undefined }]
    expect(withOverrides({ a: { b: { c: 1 } } }, empty)).toEqual({ a: { b: { c: 1 } } })
    expect(withOverrides({}, empty)).toEqual({ a: { b: {} } })
  })
})

function isOpen(step: OverrideStep, value: unknown, isLast: boolean): boolean {
  // Of an object only the presence is ever overridden: its fields stay.
  if (isLast) return !isObject(value) || Array.isArray(value)
  return typeof step === 'string' ? value === undefined || isObject(value) : value !== undefined
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

it('withoutValues leaves out objects that have nothing else, and keeps items', () => {
  const object = { a: { b: 1, c: { d: 1 } }, e: { f: { g: 1 } }, list: [{ name: 'x', a: 1 }] }
  const places = [
    ['a', 'c', 'd'],
    ['e', 'f', 'g'],
    ['list', { key: 'name', item: 'x' }, 'a'],
    ['no', 'where'],
  ]
  expect(withoutValues(object, places)).toEqual({ a: { b: 1 }, list: [{ name: 'x' }] })
  expect(
    withoutValues({ a: { b: {} }, c: { d: { e: 1 } } }, [
      ['a', 'b'],
      ['c', 'd'],
    ]),
  ).toEqual({ c: { d: { e: 1 } } })
})
