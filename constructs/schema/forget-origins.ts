import type { z } from 'zod'

/**
 * Lets the schemas that others were made from be collected. Each method of zod returns another schema, and that one keeps the schema before it, for its
 * description. Only generators read descriptions. All schemas accept the same as before, and fewer of them are described.
 * @param holders lists and plain objects that hold schemas, at any depth
 */
export function forgetOrigins(...holders: readonly object[]): void {
  const seen = new Set<unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    if (isSchema(value)) {
      value._zod.parent = undefined
      visit(value._zod.def)
    } else if (isPlain(value)) for (const one of Object.values(value)) visit(one)
  }
  visit(holders)
}

function isSchema(value: object): value is z.core.$ZodType {
  return '_zod' in value
}

/** Definitions and their shapes are plain. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value))
}
