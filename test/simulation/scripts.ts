import type { Simulators } from '../../sandbox/simulators/index.ts'

interface Script {
  readonly start: () => void
  stop: (() => void) | undefined
}

export interface ScriptsOptions {
  /** Undefined while nobody runs them. */
  readonly simulators: () => Simulators | undefined
  /** Does it after so long, or when all is to be calm, whatever comes first. */
  readonly later: (delayMs: number, end: () => void) => void
}

/** What goes wrong in the systems underneath, as long as it lasts: also in a new process of theirs. */
export class Scripts {
  readonly #options: ScriptsOptions
  readonly #scripts = new Set<Script>()

  constructor(options: ScriptsOptions) {
    this.#options = options
  }

  /** @param start returns how to stop it @param forMs 0: until all is to be calm */
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

  /** New simulators know no scripts. */
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
