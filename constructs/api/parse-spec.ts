import type { z } from 'zod'

export interface SpecProblem {
  /** Path of the field as the API server writes it, such as `spec.url` or `spec.users[0].name`. */
  readonly path: string
  readonly message: string
}

export type Parsed<Spec> =
  | { readonly ok: true; readonly spec: Spec }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] }

/** Checks a spec that may come from anywhere: one problem per field. Unknown fields are dropped. Never throws. */
export function parseSpec<Schema extends z.ZodType>(schema: Schema, raw: unknown): Parsed<z.output<Schema>> {
  const result = schema.safeParse(withoutNulls(raw))
  if (result.success) return { ok: true, spec: result.data }
  const problems = new Map<string, SpecProblem>()
  for (const issue of result.error.issues) {
    const path = issue.path.reduce<string>(joined, 'spec')
    // A value of the wrong form also breaks the rules on its meaning; the first message says enough.
    if (!problems.has(path)) problems.set(path, { path, message: issue.message })
  }
  return { ok: false, problems: [...problems.values()] }
}

function joined(path: string, part: PropertyKey): string {
  return typeof part === 'number' ? `${path}[${part}]` : `${path}.${String(part)}`
}

/**
 * The API server drops a field without a value (`secretRef:` in YAML) before it looks at anything else, at any depth; an item of a
 * list without a value stays.
 */
function withoutNulls(raw: unknown): unknown {
  if (typeof raw !== 'object' || raw === null) return raw
  if (Array.isArray(raw)) return raw.map(withoutNulls)
  const fields = Object.entries(raw).filter(([, value]) => value !== null)
  return Object.fromEntries(fields.map(([field, value]) => [field, withoutNulls(value)]))
}
