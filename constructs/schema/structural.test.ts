import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dataSync } from '../api/data-sync.ts'
import { resourceSchema } from '../api/resource-schema.ts'
import { intOrString, matching } from '../api/shared.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { workspace } from '../api/workspace.ts'
import { cel, celMatches, listMap } from './cel.ts'
import { jsonObject } from './json-object.ts'
import { type StructuralSchema, structural } from './structural.ts'

const text = () => z.string().max(10).describe('A text.')
const object = (field: z.ZodType) => z.object({ field }).describe('An object.')
const always = { rule: 'true', message: 'never shown', holds: () => true }

describe('structural', () => {
  it.each<[string, z.ZodType, RegExp]>([
    ['a field without description', z.string().max(1), /Kind\.field: has no description/],
    ['an object without description', z.object({ a: text() }), /Kind\.field: has no description/],
    [
      'list items without description',
      z.array(z.string().max(1)).max(1).describe('A list.'),
      /field\[\]: has no description/,
    ],
    ['a union', z.union([text(), z.int()]).describe('Either.'), /"anyOf" is not structural/],
    [
      'a discriminated union',
      z.discriminatedUnion('t', [z.object({ t: z.literal('a') })]).describe('One.'),
      /"oneOf" is not structural/,
    ],
    [
      'an intersection',
      z.intersection(z.object({ a: text() }), z.object({ b: text() })).describe('Both.'),
      /type intersection/,
    ],
    [
      'a false int-or-string',
      z.union([z.boolean(), text()]).meta({ description: 'x', 'x-kubernetes-int-or-string': true }),
      /made of boolean and string/,
    ],
    ['a predicate without CEL', text().refine(() => true), /use cel\(\) instead of refine/],
    ['a superRefine', object(text()).superRefine(() => {}), /use cel\(\) instead of refine/],
    ['a trimmed text', z.string().trim().max(1).describe('x'), /changed while it is read/],
    ['a transformation', text().transform((value) => value.length), /a transformation other than/],
    ['look-ahead', matching(z.string().max(1), '^(?!a)', 'x').describe('x'), /RE2/],
    ['look-behind', matching(z.string().max(1), '(?<=a)b', 'x').describe('x'), /RE2/],
    ['a back reference', matching(z.string().max(1), '(a)\\1', 'x').describe('x'), /RE2/],
    ['a named group', matching(z.string().max(1), '(?<a>b)', 'x').describe('x'), /RE2/],
    ['a pattern, which nobody can read', z.string().max(1).regex(/a/).describe('x'), /use|with matching\(\)/],
    ['two patterns', z.string().max(1).regex(/a/).regex(/b/).describe('x'), /"allOf" is not structural/],
    ['look-ahead inside CEL', cel(text(), { ...always, rule: celMatches('self', '(?=a)') }), /RE2/],
    ['an unbounded text', z.string().describe('x'), /no maxLength/],
    ['an unbounded list', z.array(text()).describe('x'), /no maxItems/],
    ['anything', z.unknown().describe('x'), /has no type/],
    ['a format that the API server does not check alike', z.url().max(1).describe('x'), /format uri/],
    ['a date', z.date().describe('x'), /Date/],
    ['a bigint', z.bigint().describe('x'), /BigInt/],
    ['a strict object', z.strictObject({ a: text() }).describe('x'), /properties and additionalProperties/],
    ['a reference to itself', recursive(), /\$ref|cycle|not structural/i],
  ])('throws on %s', (_name, field, message) => {
    expect(() => structural(object(field), 'Kind')).toThrow(message)
  })

  it('keeps constraints, extensions, defaults and rules', () => {
    const schema = cel(
      z.object({
        a: matching(z.string().min(1).max(5), '^[a-z]+$', 'must be "letters"').describe('A.'),
        plain_text_passwd: matching(z.string().max(5), '^[a-z]+$', 'no').describe('P.').optional(),
        b: z.int().min(1).max(7).default(3).describe('B.'),
        c: intOrString({ description: 'C.', pattern: '^[0-9]+$', maxLength: 4, error: 'no' })
          .transform(String)
          .optional(),
        d: z.array(text()).max(2).meta({ description: 'D.', 'x-kubernetes-list-type': 'set' }).optional(),
        e: z.record(z.string(), text()).describe('E.').optional(),
      }),
      {
        rule: "self.a != 'x'",
        message: 'not x',
        field: 'a',
        offender: { rule: "'not ' + self.a", of: ({ a }) => `not ${a}` },
        holds: ({ a }) => a !== 'x',
      },
    ).describe('All.')
    expect(structural(schema, 'Kind')).toEqual({
      description: 'All.',
      type: 'object',
      required: ['a'],
      properties: {
        a: {
          description: 'A.',
          type: 'string',
          minLength: 1,
          maxLength: 5,
          'x-kubernetes-validations': [
            {
              rule: "self.matches(r'^[a-z]+$')",
              message: 'must be "letters"',
            },
          ],
        },
        plain_text_passwd: {
          description: 'P.',
          type: 'string',
          maxLength: 5,
          'x-kubernetes-validations': [{ rule: "self.matches(r'^[a-z]+$')", message: 'no' }],
        },
        b: { description: 'B.', type: 'integer', format: 'int64', minimum: 1, maximum: 7, default: 3 },
        c: {
          description: 'C.',
          'x-kubernetes-int-or-string': true,
          maxLength: 4,
          'x-kubernetes-validations': [
            {
              rule: "type(self) == int || self.matches(r'^[0-9]+$')",
              message: 'no',
            },
          ],
        },
        d: {
          description: 'D.',
          type: 'array',
          maxItems: 2,
          items: { description: 'A text.', type: 'string', maxLength: 10 },
          'x-kubernetes-list-type': 'set',
        },
        e: {
          description: 'E.',
          type: 'object',
          additionalProperties: { description: 'A text.', type: 'string', maxLength: 10 },
        },
      },
      'x-kubernetes-validations': [
        {
          rule: "self.a != 'x'",
          message: 'not x',
          messageExpression: "'not ' + self.a",
          fieldPath: '.a',
        },
      ],
    })
  })
})

function recursive(): z.ZodType {
  const node = z.object({
    get children() {
      return z.array(node).max(1).describe('x')
    },
  })
  return node.describe('x')
}

describe('listMap', () => {
  const list = listMap(z.array(z.object({ id: text(), a: text().optional() }).describe('One.')).max(3), 'id', 'All.')

  it('has the API server merge by the key, and refuse a second item of it', () => {
    expect(structural(object(list), 'Kind').properties?.['field']).toMatchObject({
      description: 'All.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['id'],
    })
  })

  it('names each item that is there already', () => {
    const ids = (...many: string[]) => list.safeParse(many.map((id) => ({ id }))).error?.issues.map(({ path }) => path)
    expect(ids('a', 'b', 'c')).toBeUndefined()
    expect(ids('a', 'a', 'a')).toEqual([[1], [2]])
  })
})

describe('jsonObject', () => {
  const fields = z.object({ any: jsonObject('Any fields.') })

  it('is kept by the API server as it is', () => {
    expect(structural(object(jsonObject('Any fields.')), 'Kind').properties?.['field']).toEqual({
      description: 'Any fields.',
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
    })
  })

  it('is kept with every key, at any depth', () => {
    const any = JSON.parse('{"__proto__":{"constructor":null},"a":[null,{"b":null}],"":0}')
    expect(JSON.stringify(fields.parse({ any }))).toBe(JSON.stringify({ any }))
  })

  it.each([null, [], 'a', 1, true, undefined])('is not %j', (any) => {
    expect(fields.safeParse({ any }).error?.issues).toMatchObject([{ path: ['any'], code: 'invalid_type' }])
  })
})

describe.each([
  { ...vmDiskImage, fields: 60 },
  { ...virtualMachine, fields: 60 },
  { ...dataSync, fields: 45 },
  { ...workspace, fields: 130 },
])('$kind', ({ fields: least, ...resource }) => {
  it('has a description on every field of the CRD', () => {
    const { spec, status } = resourceSchema(resource).properties as Record<string, StructuralSchema>
    const fields = [...fieldsOf(spec, 'spec'), ...fieldsOf(status, 'status')]
    expect(fields.length).toBeGreaterThan(least)
    expect(fields.filter(([, description]) => (description ?? '').trim() === '')).toEqual([])
  })
})

function fieldsOf(schema: StructuralSchema | undefined, path: string): [string, string | undefined][] {
  if (schema === undefined) return []
  const nested = Object.entries(schema.properties ?? {}).flatMap(([name, child]) => fieldsOf(child, `${path}.${name}`))
  return [[path, schema.description], ...fieldsOf(schema.items, `${path}[]`), ...nested]
}
