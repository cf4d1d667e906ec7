/**
 * These bound the garbage that V8 lets accumulate in a process that reads a steady stream of small JSON: the same work takes half of the memory.
 * `docs/adr/0004-start-over-with-heap-flags.md` has the reason for each of them. Compilation runs on the thread that runs the code: in Node 24.15
 * to 24.18 Maglev's background thread ends 3 of 100 CPU-starved processes with SIGSEGV (nodejs/node#64841).
 */
const HEAP_FLAGS = [
  '--max-semi-space-size=2',
  '--heap-growing-percent=40',
  '--liftoff-only',
  '--no-concurrent-recompilation',
  '--no-turbofan',
  '--expose-gc',
]
/** Fixed thresholds: otherwise glibc raises them after the first large buffer (a list page), and keeps what is freed later. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768', MALLOC_TRIM_THRESHOLD_: '131072' }
const MARK = 'OPEN_TERRAIN_HEAP'

// V8 reads these flags at startup, and users call an entry point without flags. So the process re-executes itself in place, with the same PID.
// Where the platform cannot replace a process (Windows), or the user has chosen such flags, it continues as it is.
const { env, execArgv, execPath, argv, platform } = process
const isChosen = [...execArgv, env['NODE_OPTIONS'] ?? ''].some((flags) => flags.includes('semi-space-size'))
if (!isChosen && env[MARK] === undefined && platform !== 'win32') {
  const start = { ...ALLOCATOR, ...env, [MARK]: '1' }
  process.execve?.(execPath, [execPath, ...HEAP_FLAGS, ...execArgv, ...argv.slice(1)], start as never)
}
