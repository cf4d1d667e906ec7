import { z } from 'zod'
import { keywordCheck } from './cel.ts'

/** Any object that JSON can represent. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A free-form object: the API server and the parser keep it unchanged, with every key and every null, at any depth. */
export function jsonObject(description: string): z.ZodType<JsonObject, JsonObject> {
  const check = keywordCheck<unknown>(({ value, issues }) => {
    if (isJsonObject(value)) return
    issues.push({ code: 'invalid_type', expected: 'object', input: value, path: [] })
  })
  // Only this schema of zod returns the value itself: a record leaves out the key `__proto__`.
  return z
    .unknown()
    .check(check)
    .meta({ description, type: 'object', 'x-kubernetes-preserve-unknown-fields': true }) as z.ZodType<
    JsonObject,
    JsonObject
  >
}

/** Reports whether a value is an object with fields: neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
