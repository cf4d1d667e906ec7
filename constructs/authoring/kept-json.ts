import { z } from 'zod'
import { unwrapped } from '../schema/unwrapped.ts'

/** No text that a manifest may hold begins so. */
const MARK = '\u0000json:'

/**
 * The value with everything that is kept as it is written as a text, for cdk8s would leave out what has no value (null) and cannot render a field
 * called `constructor`.
 */
export function withKeptJson(schema: z.core.$ZodType, value: unknown): unknown {
  const known = unwrapped(schema)
  if (known instanceof z.ZodUnknown) return `${MARK}${JSON.stringify(value)}`
  if (Array.isArray(value) && known instanceof z.ZodArray) return value.map((item) => withKeptJson(known.element, item))
  if (typeof value !== 'object' || value === null || !(known instanceof z.ZodObject)) return value
  const shape: Readonly<Record<string, z.core.$ZodType>> = known.shape
  const fields = Object.entries(value).map(([field, child]) => [field, withKeptJson(shape[field] ?? z.never(), child)])
  return Object.fromEntries(fields)
}

/** The same with these texts read again. */
export function withoutKeptJson<Value>(rendered: Value): Value {
  const read = (_key: string, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? JSON.parse(value.slice(MARK.length)) : value
  return JSON.parse(JSON.stringify(rendered), read) as Value
}
