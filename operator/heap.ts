/**
 * V8 lets its nursery grow to 16 MB a space and lets garbage pile up before it tidies up, and glibc keeps an arena of freed
 * memory for each thread: an operator that reads a steady stream of small JSON then sits on several times what it needs.
 * With these it does the same work in half of the memory. The optimizing compiler for WebAssembly is left out, because it takes a lot for a
 * moment, of which the allocator keeps 10 MB or more (the HTTP parser; Liftoff is enough for it).
 *
 * JavaScript is compiled by Maglev, the middle compiler: a fleet that syncs takes a quarter more processor time without it. TurboFan, the optimizing one, takes
 * more time to compile than its code saves here. It all happens on the thread that runs the code: in Node 24.15 to 24.18 the background thread of Maglev ends 3 of 100
 * processes that lack processor time with SIGSEGV (nodejs/node#64841; none of 300 without that thread, nor of 300 with Node 24.21).
 */
const HEAP_FLAGS = [
  '--max-semi-space-size=2',
  '--heap-growing-percent=40',
  '--liftoff-only',
  '--no-concurrent-recompilation',
  '--no-turbofan',
  '--expose-gc',
]
/**
 * Fixed thresholds: glibc raises them by itself after the first large buffer (a page of a list), and then keeps those after it.
 * From 32 KiB on every allocation is given back at once: compiling our code at the start leaves 3 MB of such holes.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768', MALLOC_TRIM_THRESHOLD_: '131072' }
const MARK = 'OPEN_TERRAIN_HEAP'

/**
 * Starts this process over with our heap flags, in place: same pid, same environment, nothing kept of the first start. These
 * flags are read when V8 starts, and an entry without flags of its own is what people call. Where the platform cannot
 * replace a process (Windows), or somebody chose flags of their own, it goes on as it is.
 */
function settleHeap(): void {
  const { env, execArgv, execPath, argv } = process
  const isChosen = [...execArgv, env['NODE_OPTIONS'] ?? ''].some((flags) => flags.includes('semi-space-size'))
  if (isChosen || env[MARK] !== undefined || process.platform === 'win32' || process.execve === undefined) return
  process.execve(execPath, [execPath, ...HEAP_FLAGS, ...execArgv, ...argv.slice(1)], {
    ...ALLOCATOR,
    ...env,
    [MARK]: '1',
  } as never)
}

settleHeap()
