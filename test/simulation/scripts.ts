import type { Simulators } from '../../sandbox/simulators/index.ts'

interface Script {
  readonly start: () => void
  stop: (() => void) | undefined
}

export interface ScriptsOptions {
  /** Returns undefined while they are not running. */
  readonly simulators: () => Simulators | undefined
  /** Calls `end` after `delayMs` or when all trouble ends, whichever comes first. */
  readonly later: (delayMs: number, end: () => void) => void
}

/** The active faults of the simulated systems. They also apply to a new process of the simulators. */
export class Scripts {
  readonly #options: ScriptsOptions
  readonly #scripts = new Set<Script>()

  constructor(options: ScriptsOptions) {
    this.#options = options
  }

  /** @param start returns a function that stops it @param forMs 0: until `calm` */
  add(start: (simulators: Simulators) => () => void, forMs: number): void {
    const script: Script = {
      stop: undefined,
      start: () => {
        const simulators = this.#options.simulators()
        script.stop = simulators && start(simulators)
      },
    }
    this.#scripts.add(script)
    script.start()
    if (forMs === 0) return
    this.#options.later(forMs, () => {
      this.#scripts.delete(script)
      script.stop?.()
    })
  }

  /** Starts all scripts again: new simulators have none. */
  again(): void {
    for (const script of this.#scripts) {
      script.stop?.()
      script.start()
    }
  }

  calm(): void {
    for (const script of this.#scripts) script.stop?.()
    this.#scripts.clear()
  }
}
