import type { Actor, Kind } from './kind.ts'
import type { Action } from './schedule.ts'
import { Surroundings } from './surroundings.ts'
import type { World } from './world.ts'

/** Puts the steps of a schedule on the timeline. Each action is carried out by the actor that it belongs to. */
export class Driver {
  /** How often each action was carried out. */
  readonly done = new Map<string, number>()
  readonly #world: World
  readonly #kinds: readonly Kind[]
  readonly #actors: readonly Actor[]

  constructor(world: World) {
    this.#world = world
    this.#kinds = world.kinds
    this.#actors = [
      ...world.kinds.flatMap(({ people, actors = [] }) => [people, ...actors]),
      world.policy,
      new Surroundings(world),
      world.trouble,
    ]
  }

  /** Puts everything on the timeline. Returns the time of the last step, in virtual milliseconds from now. */
  plan(): number {
    const { time, schedule } = this.#world
    const plannedMs = this.#kinds.map((kind) => kind.people.plan())
    let atMs = 0
    for (const { afterMs, action } of schedule.steps) {
      atMs += afterMs
      time.schedule(atMs, () => this.#carryOut(action))
    }
    return Math.max(atMs, ...plannedMs)
  }

  /** Ends all temporary trouble: faults, outages, freezes. What people wrote stays. */
  calm(): void {
    this.#world.trouble.calm()
    this.#world.scripts.calm()
  }

  #carryOut(action: Action): void {
    this.done.set(action.do, (this.done.get(action.do) ?? 0) + 1)
    if (!this.#actors.some((actor) => actor.carryOut(action))) throw new Error(`nobody carries out ${action.do}`)
  }
}
