import { z } from 'zod'
import { unwrapped } from '../schema/unwrapped.ts'
import { plainValue } from './plain-values.ts'

/** No text in a valid manifest begins with this. */
const MARK = '\u0000json:'

/**
 * Returns the value with its free-form objects (`jsonObject`) written as texts, because cdk8s would leave out null values and cannot render a field
 * called `constructor`.
 */
export function withKeptJson(schema: z.core.$ZodType, value: unknown): unknown {
  const known = unwrapped(schema)
  if (known instanceof z.ZodUnknown)
    return value === undefined ? value : `${MARK}${JSON.stringify(value, (_key, one) => plainValue(one))}`
  if (Array.isArray(value) && known instanceof z.ZodArray) return value.map((item) => withKeptJson(known.element, item))
  if (typeof value !== 'object' || value === null || !(known instanceof z.ZodObject)) return value
  const shape: Readonly<Record<string, z.core.$ZodType>> = known.shape
  const fields = Object.entries(value).map(([field, child]) => [field, withKeptJson(shape[field] ?? z.never(), child)])
  return Object.fromEntries(fields)
}

/** Parses these texts again. */
export function withoutKeptJson<Value>(rendered: Value): Value {
  const read = (_key: string, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? JSON.parse(value.slice(MARK.length)) : value
  return JSON.parse(JSON.stringify(rendered), read) as Value
}
