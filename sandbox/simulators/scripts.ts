/** A requested fault and its target. */
export interface Script<Target, Fault> {
  readonly target: Target
  readonly fault: Fault
  /** Affects only the first `times` runs of each name. */
  readonly times: number
  /** By `namespace/name`, so that a recreated object does not start over. */
  readonly struck: Map<string, number>
}

/** The active faults. The latest script that matches wins. */
export class Scripts<Target, Fault> {
  readonly #scripts: Script<Target, Fault>[] = []
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** Returns a function that ends the script. What the script held up then continues. */
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

  /** Returns the fault for the run that starts now, and counts the run. */
  take(key: string, matches: (script: Script<Target, Fault>) => boolean): Fault | undefined {
    const isLeft = ({ struck, times }: Script<Target, Fault>) => (struck.get(key) ?? 0) < times
    const script = this.#scripts.findLast((one) => isLeft(one) && matches(one))
    script?.struck.set(key, (script.struck.get(key) ?? 0) + 1)
    return script?.fault
  }
}
