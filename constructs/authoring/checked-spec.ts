import { z } from 'zod'
import type { Parsed } from '../api/parse-spec.ts'

/**
 * The spec as it is to be written. Throws, naming place, field and fix, on what the API server would refuse, and on fields that
 * nobody knows, which it would only warn of.
 */
export function checkedSpec<Spec>(authored: {
  /** Path of the construct. */
  readonly place: string
  readonly kind: string
  readonly schema: z.ZodType
  readonly spec: unknown
  readonly parsed: Parsed<Spec>
}): Spec {
  const { place, kind, schema, spec, parsed } = authored
  if (!parsed.ok) {
    const lines = parsed.problems.map(({ path, message }) => `${path}: ${message}`)
    throw new Error(`${place}: the ${kind} is not valid\n  ${lines.join('\n  ')}`)
  }
  const unknown = unknownFields(schema, spec, 'spec')
  if (unknown.length > 0) throw new Error(`${place}: ${unknown.join(', ')}; remove it or correct its spelling`)
  return parsed.spec
}

function unknownFields(schema: z.core.$ZodType, value: unknown, path: string): string[] {
  const bare = unwrapped(schema)
  if (Array.isArray(value) && bare instanceof z.ZodArray) {
    return value.flatMap((item, at) => unknownFields(bare.element, item, `${path}[${at}]`))
  }
  if (typeof value !== 'object' || value === null || !(bare instanceof z.ZodObject)) return []
  const shape: Readonly<Record<string, z.core.$ZodType>> = bare.shape
  return Object.entries(value).flatMap(([field, child]) => {
    const known = Object.hasOwn(shape, field) ? shape[field] : undefined
    return known === undefined ? [`${path} has no field ${field}`] : unknownFields(known, child, `${path}.${field}`)
  })
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema
}
