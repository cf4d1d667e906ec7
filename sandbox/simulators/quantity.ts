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

/** Bytes of a Kubernetes quantity such as `24Gi`; undefined for what is none. */
export function bytesOf(quantity: string): number | undefined {
  const [, digits, suffix] = /^(\d+(?:\.\d+)?)([kMGTP]|[KMGTP]i)?$/.exec(quantity) ?? []
  const factor = FACTORS[suffix ?? '']
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}

/** CDI asks for 6 % more than wanted where a file system takes its share. */
export function withFilesystemOverhead(quantity: string): string {
  const bytes = bytesOf(quantity)
  return bytes === undefined ? quantity : String(Math.ceil(bytes * 1.06))
}
