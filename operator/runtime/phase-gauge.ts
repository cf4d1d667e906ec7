import type { Registry } from 'prom-client'
import type { Clock } from './clock.ts'
import { longestWaitSeconds, type Waiter } from './longest-wait.ts'
import { Meters } from './meters.ts'

/** The number of objects of a kind in each phase, as observed by the replica that leads. 0 for the others. */
export class PhaseGauge<O extends Waiter = Waiter> {
  readonly #meters: Meters
  protected objects: () => Iterable<O> = () => []

  /**
   * @param all phases, reported even if no object is in them
   * @param first phase of an object that has none yet; if absent, such an object is in none
   */
  constructor(registry: Registry, name: string, help: string, all: readonly string[], first?: string) {
    const phases = () => Array.from(this.objects()).flatMap(({ status }) => status?.phase ?? first ?? [])
    this.#meters = new Meters(registry)
    this.#meters.counted(name, help, 'phase', phases, all)
  }

  /** Also reports for how long the object that has waited longest has not been ready. */
  observeLongestWait(name: string, help: string, clock: Pick<Clock, 'now'>): void {
    this.#meters.observed(name, help, () => longestWaitSeconds(this.objects(), clock.now()))
  }

  /** Sets the source of the objects; undefined if this replica does not lead. */
  readFrom(objects: (() => Iterable<O>) | undefined): void {
    this.objects = objects ?? (() => [])
  }
}
