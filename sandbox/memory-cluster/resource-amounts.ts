import { parseQuantity } from '@open-terrain/constructs/operator'

/** Amounts of a resource: thousandths of a CPU, bytes, or a number of objects. */

/** @param resource such as `requests.cpu`, `memory`, `pods` */
export function amountOf(resource: string, quantity: string): bigint {
  if (!isProcessors(resource)) return parseQuantity(quantity) ?? 0n
  const [, number, milli] = /^([\d.]+)(m?)$/.exec(quantity) ?? []
  if (number === undefined) return (parseQuantity(quantity) ?? 0n) * 1_000n
  // The suffix stands for the factor: a product of fractions would not be exact.
  return parseQuantity(milli === 'm' ? number : `${number}k`) ?? 0n
}

/** Formats an amount as Kubernetes does: sizes in the largest unit that gives a whole number. */
export function quantityOf(resource: string, amount: bigint): string {
  if (isProcessors(resource)) return amount % 1_000n === 0n ? String(amount / 1_000n) : `${amount}m`
  if (!/(^|\.)(memory|storage|ephemeral-storage)$/.test(resource) || amount === 0n) return String(amount)
  let [value, unit] = [amount, 0]
  while (value % 1_024n === 0n && unit < UNITS.length - 1) [value, unit] = [value / 1_024n, unit + 1]
  return `${value}${UNITS[unit]}`
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'] as const

function isProcessors(resource: string): boolean {
  return resource === 'cpu' || resource.endsWith('.cpu')
}
