import { z } from 'zod'
import { findsOf } from '../schema/cel.ts'
import { unwrapped } from '../schema/unwrapped.ts'
import { mayBeShown, withValue } from './message-value.ts'
import type { Parsed, SpecProblem } from './spec-problem.ts'

export { type Parsed, problemsText, type SpecProblem } from './spec-problem.ts'

/** Validates a spec from any source. Returns at most one problem per field. Drops unknown fields. Never throws. */
export function parseSpec<Schema extends z.ZodType>(schema: Schema, raw: unknown): Parsed<z.output<Schema>> {
  const written = withoutNulls(schema, raw)
  const result = schema.safeParse(written)
  if (result.success) return { ok: true, spec: result.data }
  const problems = new Map<string, SpecProblem>()
  for (const issue of result.error.issues) {
    const path = issue.path.reduce<string>(joined, 'spec')
    // A malformed value also breaks the rules on its meaning. The first message is enough.
    if (!problems.has(path)) problems.set(path, { path, message: sentenceOf(issue, valueAt(written, issue.path)) })
  }
  return { ok: false, problems: [...problems.values()] }
}

/** All that is wrong with a spec, for its author. */
export interface AllProblems<Spec> {
  readonly problems: readonly SpecProblem[]
  /** The spec, if all of it has the right types: what breaks rules alone can be read. */
  readonly typed: Spec | undefined
}

/** Validates a spec as `parseSpec` does. Returns everything that breaks a rule, each at the place of its item. */
export function allProblems<Schema extends z.ZodType>(schema: Schema, raw: unknown): AllProblems<z.output<Schema>> {
  const written = withoutNulls(schema, raw)
  const { error } = schema.safeParse(written)
  const told = new Set<string>()
  const problems = (error?.issues ?? []).flatMap((issue): SpecProblem[] => {
    const finds = findsOf(issue)
    const path = issue.path.reduce<string>(joined, 'spec')
    if (finds === undefined)
      return isNew(told, path) ? [{ path, message: sentenceOf(issue, valueAt(written, issue.path)) }] : []
    return finds
      .map((one) => ({ path: one.path.reduce<string>(joined, 'spec'), message: one.message }))
      .filter((one) => isNew(told, `${one.path} ${one.message}`))
  })
  const run = schema._zod.run({ value: written, issues: [] }, { async: false })
  const isTyped = !(run instanceof Promise) && run.issues.every((issue) => issue.continue === true)
  return { problems, typed: isTyped ? (run.value as z.output<Schema>) : undefined }
}

function isNew(told: Set<string>, key: string): boolean {
  return told.size !== told.add(key).size
}

function joined(path: string, part: PropertyKey): string {
  return typeof part === 'number' ? `${path}[${part}]` : `${path}.${String(part)}`
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part], raw)
}

function sentenceOf(issue: z.core.$ZodIssue, value: unknown): string {
  const message = ruleOf(issue, value)
  return mayBeShown(issue.path) ? withValue(message, value) : message
}

/** Returns the message of an issue. The built-in checks of zod are worded like our own rules. */
function ruleOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (value === undefined && issue.code !== 'custom') return 'must be set: it is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}${quotesFor(issue.expected, value)}`
    case 'too_small':
      if (issue.origin === 'array') return `must have at least ${issue.minimum} item${issue.minimum === 1 ? '' : 's'}`
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'array') return `must have at most ${issue.maximum} items`
      return `must ${issue.origin === 'string' ? `have at most ${issue.maximum} characters` : `be at most ${issue.maximum}`}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    default:
      return issue.message
  }
}

/** YAML takes a value without quotes for a number, or for true. */
function quotesFor(expected: string, value: unknown): string {
  if (expected !== 'string') return ''
  return typeof value === 'number'
    ? ': put quotes around a number'
    : typeof value === 'boolean'
      ? ': put quotes around it'
      : ''
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'an object with fields',
  record: 'an object with fields',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false, without quotes',
  number: 'a number, without quotes',
  int: 'a whole number',
}

/**
 * Removes null fields (`secretRef:` in YAML), as the API server does before anything else, at every depth where it knows the fields, and null values of
 * maps. Null items of a list stay, and so does everything in free-form objects (`jsonObject`).
 */
function withoutNulls(schema: z.core.$ZodType, raw: unknown): unknown {
  const known = unwrapped(schema)
  if (Array.isArray(raw))
    return known instanceof z.ZodArray ? raw.map((item) => withoutNulls(known.element, item)) : raw
  if (typeof raw !== 'object' || raw === null) return raw
  if (known instanceof z.ZodRecord) return Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null))
  if (!(known instanceof z.ZodObject)) return raw
  const shape: Readonly<Record<string, z.core.$ZodType>> = known.shape
  const fields = Object.entries(raw).filter(([field, value]) => value !== null && Object.hasOwn(shape, field))
  return Object.fromEntries(
    fields.map(([field, value]) => [field, withoutNulls(shape[field] as z.core.$ZodType, value)]),
  )
}
