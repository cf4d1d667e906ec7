/**
 * Flags of Node with which the image starts the operator. They bound the garbage that V8 lets accumulate in a process that reads a steady stream of
 * small JSON: the same work takes half of the memory. `docs/adr/0004-heap-flags.md` has the reason for each of them. Compilation runs on the thread
 * that runs the code: in Node 24.15 to 24.18 Maglev's background thread ends 3 of 100 CPU-starved processes with SIGSEGV (nodejs/node#64841).
 */
export const NODE_FLAGS = [
  '--max-semi-space-size=2',
  '--heap-growing-percent=40',
  '--liftoff-only',
  '--no-concurrent-recompilation',
  '--no-turbofan',
  '--expose-gc',
]

/** Variables of the image. Fixed thresholds: otherwise glibc raises them after the first large buffer (a list page), and keeps what is freed later. */
export const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768', MALLOC_TRIM_THRESHOLD_: '131072' }

/** Whether somebody set the size of V8's nursery, which is what costs most memory: the image, or a person who chose another one. */
export function hasHeapFlags({ execArgv, env }: Pick<NodeJS.Process, 'execArgv' | 'env'>): boolean {
  return [...execArgv, env['NODE_OPTIONS'] ?? ''].some((flags) => flags.includes('semi-space-size'))
}
