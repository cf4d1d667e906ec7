import { parseQuantity } from '../api/quantity.ts'

/**
 * Percentage of the memory limit for the heap of old objects. The rest is for Node itself, its young generation and buffers of connections. With
 * 10,000 images the two parts are about equal (docs/benchmarks.md).
 */
const HEAP_PERCENT = 60n
const MEBIBYTE = 2n ** 20n

/**
 * Returns the flag of Node that keeps the heap within a container's memory limit: near the limit, Node then collects garbage, or exits with a message
 * of its own, before the kernel kills it without one. Throws, naming the property, if the limit is not a quantity of memory.
 * @param memoryLimit a quantity, such as `320Mi`
 */
export function heapFlag(memoryLimit: string): string {
  const bytes = parseQuantity(memoryLimit)
  const mebibytes = bytes === undefined ? 0n : (bytes * HEAP_PERCENT) / 100n / MEBIBYTE
  if (mebibytes < 1n)
    throw new Error(`resources.limits.memory: "${memoryLimit}" is not an amount of memory, write one such as 320Mi`)
  return `--max-old-space-size=${mebibytes}`
}
