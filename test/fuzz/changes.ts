import fc from 'fast-check'
import { anyJson } from './odd-values.ts'
import { rawNumber, UNKNOWN } from './spec-manifests.ts'

export type Path = readonly (string | number)[]
/** An odd value, and its place in a spec. */
export type Change = readonly [path: Path, value: unknown]

export const at = <T>(path: Path, value: fc.Arbitrary<T>): fc.Arbitrary<Change> =>
  value.map((one) => [path, one] as const)

/** Returns a copy with the value at its place, or without it if an earlier change has removed the place. */
function changed(whole: unknown, [path, value]: Change): unknown {
  const [field, ...rest] = path
  if (field === undefined) return value
  if (typeof whole !== 'object' || whole === null) return whole
  if (Array.isArray(whole)) return whole.map((item, index) => (index === field ? changed(item, [rest, value]) : item))
  const others = Object.entries(whole).filter(([name]) => name !== field)
  const old = Object.entries(whole).find(([name]) => name === field)?.[1]
  // As in JSON.parse, a field `__proto__` is an ordinary field.
  return Object.fromEntries([...others, [field, changed(old, [rest, value])]])
}

export interface Changeable {
  /** Valid specs with everything that changes apply to. */
  readonly right: fc.Arbitrary<object>
  /** Changes that make a spec slightly wrong. */
  readonly odd: fc.Arbitrary<Change>
  /** Fields that may be missing, or have a value of any kind. */
  readonly fields: readonly Path[]
  /** Objects that an unknown field can be added to. */
  readonly places: readonly Path[]
}

/** Specs that are valid except for a few changes, and specs that consist only of changes. */
export function changedSpecs({ right, odd, fields, places }: Changeable) {
  const change: fc.Arbitrary<Change> = fc.oneof(
    { arbitrary: odd, weight: 8 },
    fc.tuple(fc.constantFrom(...fields), fc.oneof(anyJson, rawNumber, fc.constant(undefined))),
    fc
      .tuple(fc.constantFrom(...places), fc.constantFrom(...UNKNOWN), anyJson)
      .map(([place, field, value]): Change => [[...place, field], value]),
  )
  const few = fc.oneof(
    { arbitrary: fc.array(change, { minLength: 1, maxLength: 1 }), weight: 4 },
    fc.array(change, { minLength: 2, maxLength: 3 }),
  )
  return {
    nearValid: fc.tuple(right, few).map(([spec, list]) => list.reduce<unknown>(changed, spec)),
    noise: fc.oneof(
      anyJson,
      fc.constant(undefined),
      fc.array(change, { maxLength: 8 }).map((list) => list.reduce<unknown>(changed, {})),
    ),
  }
}
