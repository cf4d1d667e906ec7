const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
}

/** Returns the bytes of a Kubernetes quantity such as `24Gi`, or undefined if it is not a quantity. */
export function bytesOf(quantity: string): number | undefined {
  const [, digits, suffix] = /^(\d+(?:\.\d+)?)([kMGTP]|[KMGTP]i)?$/.exec(quantity) ?? []
  const factor = FACTORS[suffix ?? '']
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}

/** CDI asks for 6% more than wanted if a file system takes its share. */
export function withFilesystemOverhead(quantity: string): string {
  const bytes = bytesOf(quantity)
  return bytes === undefined ? quantity : String(Math.ceil(bytes * 1.06))
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'] as const

/**
 * Returns a quantity as Kubernetes writes it, in the largest unit that gives a whole number: `2048Mi` becomes `2Gi`,
 * and `1.5Gi` becomes `1536Mi`. Decimal quantities and invalid texts stay as they are.
 */
export function canonicalQuantity(quantity: string | number): string {
  const text = String(quantity)
  const bytes = text.endsWith('i') ? bytesOf(text) : undefined
  if (bytes === undefined || bytes === 0 || !Number.isInteger(bytes)) return text
  let [value, unit] = [bytes, 0]
  while (value % 1024 === 0 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1]
  return `${value}${UNITS[unit]}`
}
