const SYNTAX = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$/
const BINARY = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n } as const
const DECIMAL = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 } as const
/** Far beyond what a 64-bit quantity can hold. Prevents a text such as `1e999999999` from building a number of that size. */
const EXPONENT_MAX = 64
const LENGTH_MAX = 64
const INT64_MAX = 2n ** 63n - 1n

/**
 * Pattern of a quantity for the API server. Range checks are rules of the field and must test the pattern first: the API server expands an exponent
 * before it compares, so `1e99999999` would keep it busy for minutes.
 * Source: the format described at `Quantity` in k8s.io/apimachinery/pkg/api/resource.
 */
export const QUANTITY_PATTERN = '^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$'

/**
 * Returns a Kubernetes quantity (`24Gi`, `1.5G`, `2e3`, `500m`) in whole units (bytes for sizes), rounded away from zero as in Kubernetes. Returns
 * undefined if the text is not a quantity or does not fit into 64 bits.
 */
export function parseQuantity(text: string): bigint | undefined {
  return unitsOf(text, 0)
}

/** The same in thousandths, as Kubernetes compares CPUs: `500m` is 500. */
export function parseMilliQuantity(text: string): bigint | undefined {
  return unitsOf(text, 3)
}

/** @param digitsOfUnit 0 for whole units, 3 for thousandths */
function unitsOf(text: string, digitsOfUnit: number): bigint | undefined {
  const match = text.length <= LENGTH_MAX ? SYNTAX.exec(text) : null
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', suffix = ''] = match
  if (whole === '' && fraction === '') return undefined
  const scale = scaleOf(suffix)
  if (scale === undefined) return undefined
  const exponent = scale.ten + digitsOfUnit - fraction.length
  const factor = BigInt(10) ** BigInt(Math.abs(exponent))
  const digits = BigInt(whole + fraction) << scale.two
  const size = exponent >= 0 ? digits * factor : (digits + factor - 1n) / factor
  if (size > INT64_MAX) return undefined
  return sign === '-' ? -size : size
}

/** Reports whether two values are one amount, to a thousandth, as Kubernetes has it: 1000m is 1. What is no quantity has to be the same value. */
export function isSameAmount(one: unknown, other: unknown): boolean {
  if (one === undefined || one === other) return one !== undefined
  const amount = parseMilliQuantity(String(one))
  return amount !== undefined && amount === parseMilliQuantity(String(other))
}

/** Returns a negative number, 0 or a positive number if `a` is less than, equal to or greater than `b`, or undefined if one is not a quantity. */
export function compareQuantities(a: string, b: string): number | undefined {
  const [left, right] = [parseQuantity(a), parseQuantity(b)]
  if (left === undefined || right === undefined) return undefined
  return left < right ? -1 : left > right ? 1 : 0
}

function scaleOf(suffix: string): { ten: number; two: bigint } | undefined {
  if (suffix === '') return { ten: 0, two: 0n }
  if (Object.hasOwn(BINARY, suffix)) return { ten: 0, two: BINARY[suffix as keyof typeof BINARY] }
  if (Object.hasOwn(DECIMAL, suffix)) return { ten: DECIMAL[suffix as keyof typeof DECIMAL], two: 0n }
  const ten = Number(suffix.slice(1))
  return Math.abs(ten) <= EXPONENT_MAX ? { ten, two: 0n } : undefined
}
