import { z } from 'zod'
import { parseDuration } from './duration.ts'
import { IMAGE_URL_WORDS, unknownWords } from './image-url-template.ts'
import { RECLAIM_POLICIES } from './policy-fields.ts'
import { parseQuantity, QUANTITY_PATTERN } from './quantity.ts'
import { isUrlPrefix } from './source-url.ts'

/** Schemas for the values of the policy, which are strings in a ConfigMap. */

/** Accepts only plain digits: `4.0` or `1e9` in a policy probably means something else than we would parse. */
export function integer(max: number) {
  const error = `must be a whole number from 0 to ${max}`
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value <= max, { error })
}

export function milliseconds(options: { readonly isZeroAllowed: boolean }) {
  const error = options.isZeroAllowed
    ? 'must be a duration such as 72h or 0s'
    : 'must be a duration above zero such as 5m or 1h30m'
  return z.string().transform((text, context) => {
    const ms = parseDuration(text)
    if (ms !== undefined && (ms > 0 || options.isZeroAllowed)) return ms
    context.addIssue({ code: 'custom', message: error })
    return z.NEVER
  })
}

/** Accepts an empty value as well, which means none. */
export function orNone<Schema extends z.ZodType<unknown, string>>(schema: Schema) {
  return z.union([z.literal('').transform(() => undefined), schema], {
    error: (issue) => (issue.code === 'invalid_union' ? issue.errors?.[1]?.[0]?.message : undefined),
  })
}

export const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((text) => text === 'true')

export const size = z
  .string()
  .max(32)
  .regex(new RegExp(QUANTITY_PATTERN), { error: 'must be a quantity such as 24Gi' })
  .refine((text) => isDiskSize(text), { error: 'must be between 1Mi and 1Pi' })

function isDiskSize(text: string): boolean {
  const bytes = parseQuantity(text)
  return bytes !== undefined && bytes >= 2n ** 20n && bytes <= 2n ** 50n
}

export const urlPrefixes = z.string().transform((text, context) => {
  const prefixes = text.split(/[\s,]+/).filter((prefix) => prefix !== '')
  if (prefixes.length === 0) return undefined
  const bad = prefixes.find((prefix) => !isUrlPrefix(prefix))
  if (bad === undefined) return prefixes
  const message = `must be URL prefixes such as https://images.example.com/vms, without user, query or ".." (see ${withoutSecrets(bad)})`
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

/** A URL with words in braces as placeholders. The resulting URL is validated when an image is created from it. */
export const urlTemplate = z
  .string()
  .max(2048)
  .regex(/^(https?|gs|docker|oci-archive):\/\/([!-z|~]|\{[a-zA-Z]+\})+$/, {
    error: 'must be a URL with placeholders such as {name}, {version} or {baseVm}',
  })
  .refine((template) => unknownWords(template).length === 0, {
    error: `must have no other placeholders than ${IMAGE_URL_WORDS.map((word) => `{${word}}`).join(', ')}`,
  })

export const hostPath = z
  .string()
  .max(1024)
  .regex(/^(\/[A-Za-z0-9._-]+)+\/?$/, { error: 'must be an absolute path' })
  .refine((path) => !path.split('/').includes('..'), { error: 'must not contain ".."' })

export const positive = milliseconds({ isZeroAllowed: false })
export const reclaim = z.enum(RECLAIM_POLICIES, { error: 'must be Retain or Delete' })

/** Returns the part of a possible URL that cannot be a credential: after users and passwords, before the first query. */
export function withoutSecrets(text: string): string {
  const start = text.lastIndexOf('@') + 1
  const parameters = text.search(/[?#&=]/)
  const shown = parameters < 0 ? text.slice(start) : `${text.slice(start, Math.max(start, parameters))}…`
  return start === 0 ? shown : `…@${shown}`
}
