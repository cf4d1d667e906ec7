import { parseQuantity } from '../api/quantity.ts'

const BINARY = { base: 1024n, suffixes: ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] }
const DECIMAL = { base: 1000n, suffixes: ['', 'k', 'M', 'G', 'T', 'P', 'E'] }

/**
 * Returns the quantity as KubeVirt's webhook writes it (`2048Mi` becomes `2Gi`, `1.5Gi` becomes `1536Mi`), so that the stored value equals the sent
 * one. Throws if it is not a quantity above 0.
 */
export function guestMemory(memory: string): string {
  const bytes = parseQuantity(memory)
  if (bytes === undefined || bytes <= 0n) throw new Error(`memory ${JSON.stringify(memory)} is no quantity above 0`)
  const { base, suffixes } = memory.endsWith('i') ? BINARY : DECIMAL
  let [amount, step] = [bytes, 0]
  for (; amount % base === 0n && step < suffixes.length - 1; step++) amount /= base
  return `${amount}${suffixes[step]}`
}
