/**
 * By default V8 grows its nursery to 16 MB per space and lets garbage accumulate, and glibc keeps an arena of freed memory for each
 * thread. An operator that reads a steady stream of small JSON then holds several times the memory it needs. With these flags it does the
 * same work in half of the memory. WebAssembly's optimizing compiler is disabled, because it briefly takes a lot of memory, of which the
 * allocator keeps 10 MB or more. The HTTP parser is the WebAssembly code, and Liftoff is enough for it.
 *
 * Maglev, the middle compiler, compiles JavaScript: without it a syncing fleet takes a quarter more CPU time. TurboFan, the optimizing
 * one, takes longer to compile than its code saves here. Compilation runs on the thread that runs the code: in Node 24.15 to 24.18 Maglev's
 * background thread ends 3 of 100 CPU-starved processes with SIGSEGV (nodejs/node#64841; none of 300 without it, none of 300 with Node 24.21).
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
 * Fixed thresholds: otherwise glibc raises them after the first large buffer (a list page) and then keeps the later ones.
 * Freed allocations of 32 KiB or more are returned at once: compiling our code at startup leaves 3 MB of such holes.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768', MALLOC_TRIM_THRESHOLD_: '131072' }
const MARK = 'OPEN_TERRAIN_HEAP'

/**
 * Re-executes this process in place with our heap flags: same PID, same environment, nothing kept from the first start. V8 reads these
 * flags at startup, and users call an entry point without flags. If the platform cannot replace a process (Windows), or the user has
 * chosen such flags, the process continues as it is.
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
