import { z } from 'zod'
import { keywordCheck } from './cel.ts'

/** Any object that JSON can write. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * An object of anybody's making: the API server and the parser keep it as it is, with every key, every value without a value (null), and at any depth.
 */
export function jsonObject(description: string): z.ZodType<JsonObject> {
  const check = keywordCheck<unknown>(({ value, issues }) => {
    if (isJsonObject(value)) return
    issues.push({ code: 'invalid_type', expected: 'object', input: value, path: [] })
  })
  // Of all schemas of zod, this one alone hands back the very value: a record leaves out the key `__proto__`.
  return z
    .unknown()
    .check(check)
    .meta({ description, type: 'object', 'x-kubernetes-preserve-unknown-fields': true }) as z.ZodType<JsonObject>
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
