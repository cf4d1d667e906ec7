/** Fields of a spec that are laid over what is there: objects are merged, all else is replaced, and null removes a field (RFC 7386). */
export type SpecPatch = Readonly<Record<string, unknown>>

/** Returns a value with a patch over it. */
export function withPatch(value: unknown, patch: SpecPatch): unknown {
  const fields = new Map(isFields(value) ? Object.entries(value) : [])
  for (const [field, change] of Object.entries(patch))
    if (change === null) fields.delete(field)
    else fields.set(field, isFields(change) ? withPatch(fields.get(field), change) : change)
  return Object.fromEntries(fields)
}

function isFields(value: unknown): value is SpecPatch {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
