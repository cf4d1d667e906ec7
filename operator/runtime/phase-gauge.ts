import type { Registry } from 'prom-client'
import type { Clock } from './clock.ts'
import { longestWaitSeconds } from './longest-wait.ts'
import { Meters } from './meters.ts'

/** How many objects of a kind are in each phase, in the eyes of the replica that leads: 0 for the others. */
export class PhaseGauge {
  readonly #meters: Meters
  #objects: () => Iterable<object> = () => []

  /** @param all phases, reported also where nothing is in them */
  constructor(registry: Registry, name: string, help: string, all: readonly string[]) {
    const phases = () => Array.from(this.#objects()).flatMap((object) => phaseOf(object) ?? [])
    this.#meters = new Meters(registry)
    this.#meters.counted(name, help, 'phase', phases, all)
  }

  /** Reports beside it for how long the object that has waited longest has not been ready. */
  observeLongestWait(name: string, help: string, clock: Pick<Clock, 'now'>): void {
    this.#meters.observed(name, help, () => longestWaitSeconds(this.#objects(), clock.now()))
  }

  /** Where it is read; undefined where this replica does not lead. */
  readFrom(objects: (() => Iterable<object>) | undefined): void {
    this.#objects = objects ?? (() => [])
  }
}

function phaseOf(object: object): string | undefined {
  return (object as { readonly status?: { readonly phase?: string } }).status?.phase
}
