import { z } from 'zod'
import { type CelRule, celRuleOf, isCheckedByKeyword } from './cel.ts'

/**
 * A schema as the API server accepts it in a CustomResourceDefinition: every node has one type, and everything that is not a plain keyword is a CEL
 * rule. Source: "Specifying a structural schema" in the Kubernetes documentation.
 */
export interface StructuralSchema {
  readonly description?: string
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly items?: StructuralSchema
  readonly required?: readonly string[]
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[]
  readonly [keyword: string]: unknown
}

export interface ValidationRule {
  readonly rule: string
  readonly message: string
  readonly messageExpression?: string
  readonly fieldPath?: string
}

/** Allowed keywords, in the order in which they are written. Any other one is an error and is not dropped silently. */
const KEYWORDS = [
  'description',
  'type',
  'format',
  'default',
  'enum',
  'nullable',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'required',
  'properties',
  'additionalProperties',
  'items',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
] as const

/** What a schema says to authors alone, in their editors: a CRD has a limit on its bytes. */
const FOR_AUTHORS: readonly string[] = ['example']

/** Types of zod schemas that have a structural form. Of the unions, `normalized` accepts only int-or-string. */
const TYPES: readonly string[] = [
  'object',
  'array',
  'record',
  'string',
  'number',
  'boolean',
  'enum',
  'literal',
  'unknown',
  'optional',
  'nullable',
  'default',
  'union',
  'pipe',
  'transform',
]

const FORMATS = ['date-time']
const CEL_PATTERN = /\.matches\(r'([^']*)'\)/g
/** Look-around, named groups, back references, escapes of JavaScript only, and classes that the two engines interpret differently. */
const NOT_IN_RE2 = /\(\?(?!:)|\\[1-9kucsSbBpP]|\{\d{4,}|[*+?}]\+/

type JsonNode = Record<string, unknown>

/**
 * Returns the structural schema of a zod schema's input. Throws an error with the field for everything that the API server could not enforce exactly
 * as zod does: unions, predicates without CEL, transformations, patterns outside RE2, missing descriptions, unbounded texts and lists.
 * @param name what the schema describes, for error messages
 */
export function structural(schema: z.ZodType, name: string): StructuralSchema {
  const json = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    unrepresentable: 'throw',
    reused: 'inline',
    override: ({ zodSchema, jsonSchema, path }) => {
      const place = [name, ...path.filter((segment) => segment !== 'properties')].join('.')
      checkNode(zodSchema, place)
      addRules(zodSchema, jsonSchema as JsonNode, place)
      unwrapIntOrString(jsonSchema as JsonNode, place)
    },
  })
  return normalized(json as JsonNode, name)
}

function fail(place: string, problem: string): never {
  throw new Error(`${place}: ${problem}`)
}

/** Refuses what zod would check but leave out of its JSON schema. */
function checkNode(schema: z.core.$ZodTypes, place: string): void {
  const { def } = schema._zod
  if (!TYPES.includes(def.type)) fail(place, `a schema of type ${def.type} cannot be proved structural`)
  if (def.type === 'pipe' && !isToText(def.out))
    fail(place, 'a transformation other than transform(String) cannot be proved')
  for (const check of def.checks ?? []) {
    const { check: kind } = check._zod.def
    if (kind === 'custom' && celRuleOf(check) === undefined && !isCheckedByKeyword(check))
      fail(place, 'a predicate needs its CEL side: use cel() instead of refine()')
    if (kind === 'overwrite')
      fail(place, 'a value that is changed while it is read (trim, toLowerCase) is not what the API server stores')
  }
}

function isToText(out: z.core.$ZodType): boolean {
  const { def } = (out as z.core.$ZodTypes)._zod
  return def.type === 'transform' && (def.transform as unknown) === String
}

function addRules(schema: z.core.$ZodTypes, node: JsonNode, place: string): void {
  const rules = (schema._zod.def.checks ?? []).map((check) => celRuleOf(check)).filter((rule) => rule !== undefined)
  if (rules.length === 0) return
  for (const rule of rules.flatMap(({ rule, offender }) => [rule, offender?.rule ?? ''])) {
    for (const [, pattern = ''] of rule.matchAll(CEL_PATTERN)) checkPattern(pattern, place)
  }
  node['x-kubernetes-validations'] = rules.map(validationRule)
}

function validationRule({ rule, message, field, offender }: CelRule<never>): ValidationRule {
  return {
    rule,
    message,
    ...(offender !== undefined && { messageExpression: offender.rule }),
    ...(field !== undefined && { fieldPath: `.${field}` }),
  }
}

function checkPattern(pattern: string, place: string): void {
  if (NOT_IN_RE2.test(pattern)) fail(place, `the pattern is not in the common part of RE2 and JavaScript: ${pattern}`)
}

/** The extension replaces the two branches, which a structural schema must not contain. */
function unwrapIntOrString(node: JsonNode, place: string): void {
  if (node['x-kubernetes-int-or-string'] !== true || node.anyOf === undefined) return
  const types = (node.anyOf as JsonNode[]).map(({ type }) => type)
  if (types.join() !== 'integer,string') fail(place, `int-or-string is made of ${types.join(' and ')}`)
  delete node.anyOf
}

/** Keeps only known keywords, in a fixed order, and checks each node. */
function normalized(node: JsonNode, place: string): StructuralSchema {
  for (const word of Object.keys(node)) {
    if (word === 'pattern') fail(place, 'who breaks a pattern reads nothing else: say it in words, with matching()')
    const isKnown = [...KEYWORDS, ...FOR_AUTHORS, '$schema', '~standard'].includes(word)
    if (!isKnown)
      fail(
        place,
        `"${word}" is not structural: use optional fields beside each other with a cel() rule, or intOrString()`,
      )
  }
  checkKeywords(node, place)
  const kept = Object.fromEntries(KEYWORDS.filter((word) => node[word] !== undefined).map((word) => [word, node[word]]))
  if (node.type === 'integer') dropSafeIntegerBounds(kept)
  const properties = node.properties as Record<string, JsonNode> | undefined
  if (properties !== undefined) {
    kept.properties = Object.fromEntries(
      Object.entries(properties).map(([field, child]) => [field, normalized(child, `${place}.${field}`)]),
    )
  }
  if (node.items !== undefined) kept.items = normalized(node.items as JsonNode, `${place}[]`)
  if (typeof node.additionalProperties === 'object') {
    kept.additionalProperties = normalized(node.additionalProperties as JsonNode, `${place}{}`)
  }
  return kept
}

function checkKeywords(node: JsonNode, place: string): void {
  if (typeof node.description !== 'string' || node.description.trim() === '') fail(place, 'has no description')
  const isTyped = node.type !== undefined || node['x-kubernetes-int-or-string'] === true
  if (!isTyped && node['x-kubernetes-preserve-unknown-fields'] !== true) fail(place, 'has no type')
  if (node.properties !== undefined && node.additionalProperties !== undefined) {
    fail(place, 'has properties and additionalProperties')
  }
  if (node.type === 'string') checkText(node, place)
  if (node.type === 'array') checkList(node, place)
}

function checkText(node: JsonNode, place: string): void {
  if (node.format !== undefined && !FORMATS.includes(String(node.format))) {
    fail(place, `format ${node.format} is not one that we prove`)
  }
  const isBounded = node.maxLength !== undefined || node.enum !== undefined || node.format === 'date-time'
  if (!isBounded) fail(place, 'has no maxLength, so the cost of rules is unbounded')
}

function checkList(node: JsonNode, place: string): void {
  if (node.items === undefined) fail(place, 'has no items')
  if (node.maxItems === undefined) fail(place, 'has no maxItems, so the cost of rules is unbounded')
}

/** Zod limits integers to what JavaScript represents exactly. The limit of the API server is 64 bits. */
function dropSafeIntegerBounds(node: JsonNode): void {
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum
  node.format = 'int64'
}
