import { expect, it } from 'vitest'
import { z } from 'zod'
import { forgetOrigins } from './forget-origins.ts'

const name = z.string().min(1).max(3).describe('a name')
const make = () =>
  z.object({
    list: z.array(z.object({ name }).describe('an item')).max(2).optional(),
    either: z.union([z.int().min(1), name.transform(String)]).describe('either'),
    map: z.record(z.string().max(2), z.boolean().default(true).describe('a flag')),
  })

/** Every schema that can be reached from this one, those that it was made from included. */
function reached(schema: z.core.$ZodType): z.core.$ZodType[] {
  const found = new Set<unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || found.has(value)) return
    found.add(value)
    if (value instanceof z.core.$ZodType) [value._zod.parent, value._zod.def].forEach(visit)
    else if (!(value instanceof z.core.$ZodCheck)) Object.values(value).forEach(visit)
  }
  visit(schema)
  return [...found].filter((one) => one instanceof z.core.$ZodType)
}

it('frees what schemas were made from, at any depth', () => {
  const schema = make()
  expect(reached(schema).filter(({ _zod }) => _zod.parent !== undefined).length).toBeGreaterThan(5)
  forgetOrigins([{ spec: schema }])
  expect(reached(schema).filter(({ _zod }) => _zod.parent !== undefined)).toEqual([])
})

it.each([
  { list: [{ name: 'a' }], either: 'b', map: { c: false } },
  { list: [{ name: 'abcd' }, {}, 1], either: 0, map: { long: 1 } },
  { either: undefined, map: { c: undefined } },
])('changes nothing that is accepted or refused: %j', (value) => {
  const forgotten = make()
  forgetOrigins([forgotten])
  expect(JSON.stringify(forgotten.safeParse(value))).toBe(JSON.stringify(make().safeParse(value)))
})
