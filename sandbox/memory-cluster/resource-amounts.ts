import { parseQuantity } from '@open-terrain/constructs'

/** How much of a resource: thousandths of a processor, bytes, or a number of objects. */

/** @param resource as in `requests.cpu`, `memory`, `pods` */
export function amountOf(resource: string, quantity: string): bigint {
  if (!isProcessors(resource)) return parseQuantity(quantity) ?? 0n
  const fraction = /^(\d*\.?\d+)$/.exec(quantity)
  if (fraction !== null) return BigInt(Math.ceil(Number(quantity) * 1_000))
  return quantity.endsWith('m') ? BigInt(quantity.slice(0, -1)) : (parseQuantity(quantity) ?? 0n) * 1_000n
}

/** As Kubernetes writes it: sizes in the largest unit that leaves a whole number. */
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
