/** A fault that somebody asked for, and of whom. */
export interface Script<Target, Fault> {
  readonly target: Target
  readonly fault: Fault
  /** It strikes only the first so many runs of each name. */
  readonly times: number
  /** By `namespace/name`, so that an object that is made again does not start over. */
  readonly struck: Map<string, number>
}

/** The faults in force. The latest script that matches wins. */
export class Scripts<Target, Fault> {
  readonly #scripts: Script<Target, Fault>[] = []
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** Returns how to end the script: what it held up goes on. */
  add(target: Target, fault: Fault, times = Number.POSITIVE_INFINITY): () => void {
    const script = { target, fault, times, struck: new Map() }
    this.#scripts.push(script)
    this.#onChange()
    return () => {
      const at = this.#scripts.indexOf(script)
      if (at >= 0) this.#scripts.splice(at, 1)
      this.#onChange()
    }
  }

  find(matches: (script: Script<Target, Fault>) => boolean): Fault | undefined {
    return this.#scripts.findLast(matches)?.fault
  }

  /** The fault that the run which starts now will meet. Counts it. */
  take(key: string, matches: (script: Script<Target, Fault>) => boolean): Fault | undefined {
    const isLeft = ({ struck, times }: Script<Target, Fault>) => (struck.get(key) ?? 0) < times
    const script = this.#scripts.findLast((one) => isLeft(one) && matches(one))
    script?.struck.set(key, (script.struck.get(key) ?? 0) + 1)
    return script?.fault
  }
}
