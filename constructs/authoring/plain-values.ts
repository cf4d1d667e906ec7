import type { Duration, Size } from 'cdk8s'
import { z } from 'zod'
import { formatDuration } from '../api/duration.ts'
import { unwrapped } from '../schema/unwrapped.ts'

/** Names of units, from the largest, with their kibibytes. */
const UNITS = [
  ['Ti', 1024 ** 3],
  ['Gi', 1024 ** 2],
  ['Mi', 1024],
] as const

/** Returns a size as specs have it. A `Size` is written in the largest unit that shows it whole. */
export function quantityOf(size: Size | string | number): string | number {
  return plainValue(size) as string | number
}

/**
 * Returns a value as manifests have it: a `Size` or a `Duration` of cdk8s, of any copy of it, and a `Date` as texts. All else is returned as it is, and so is a
 * `Date` that is none.
 */
export function plainValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? value : value.toISOString()
  if (has<Size>(value, 'toKibibytes')) return sizeText(value.toKibibytes())
  return has<Duration>(value, 'toMilliseconds') ? formatDuration(value.toMilliseconds()) : value
}

/** Returns the value with all that its schema knows as manifests have it. */
export function withPlainValues(schema: z.core.$ZodType, value: unknown): unknown {
  const known = unwrapped(schema)
  if (Array.isArray(value) && known instanceof z.ZodArray)
    return value.map((item) => withPlainValues(known.element, item))
  const plain = plainValue(value)
  // A schema says what it wants in its place.
  if (plain instanceof Date) return String(plain)
  const isFields = typeof plain === 'object' && plain !== null && !Array.isArray(plain)
  if (!isFields || !(known instanceof z.ZodObject)) return plain
  const shape: Readonly<Record<string, z.core.$ZodType>> = known.shape
  const fields = Object.entries(plain).map(([field, child]) => {
    const of = Object.hasOwn(shape, field) ? shape[field] : undefined
    return [field, of === undefined ? child : withPlainValues(of, child)]
  })
  return Object.fromEntries(fields)
}

function has<Type>(value: object, method: keyof Type & string): value is object & Type {
  return method in value && typeof (value as Readonly<Record<string, unknown>>)[method] === 'function'
}

function sizeText(kibibytes: number): string {
  const [unit, each] = UNITS.find(([, size]) => kibibytes % size === 0) ?? ['Ki', 1]
  return `${kibibytes / each}${unit}`
}
