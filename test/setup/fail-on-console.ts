import { afterEach, beforeEach, vi } from 'vitest'

/** A unit that prints has either a leftover in it or an error that it swallowed. */
beforeEach(() => {
  for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const) {
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => {
      throw new Error(`console.${method} was called: ${args.map(String).join(' ')}`)
    })
  }
})

afterEach(() => {
  vi.restoreAllMocks()
})
