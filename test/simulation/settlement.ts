import { isDeepStrictEqual } from 'node:util'
import { type Ends, UNDECIDED } from './kind.ts'
import type { World } from './world.ts'

/** Whether everything is in an end state, once nothing disturbs anybody any more, and in which one. */
export class Settlement {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  get isReached(): boolean {
    return this.#holders.length === 0 && this.#world.kinds.every((kind) => kind.rest.restless().length === 0)
  }

  /** Describes what is still going on. */
  describe(): string {
    const { kinds, chronicle, replicas } = this.#world
    return [
      ...kinds.flatMap((kind) => kind.rest.restless()),
      `ledger: ${JSON.stringify(chronicle.ledger)}`,
      ...replicas.map((replica) => replica.describe()),
    ].join('\n')
  }

  ends(): Ends {
    const slots = { slots: this.#world.chronicle.ledger === undefined ? 'the ledger is gone' : this.#holders }
    const all = this.#world.kinds.map((kind) => kind.rest.ends())
    const together = (which: keyof Ends) => Object.assign({}, slots, ...all.map((ends) => ends[which]))
    return { whole: together('whole'), decided: together('decided') }
  }

  get #holders(): readonly string[] {
    return this.#world.chronicle.ledger?.holders.map(({ namespace, name }) => `${namespace}/${name}`) ?? []
  }
}

/** Returns what ended differently in two runs of the same schedule. */
export function differences(disturbed: Ends[keyof Ends], calm: Ends[keyof Ends]): string[] {
  const text = (value: unknown) => JSON.stringify(value, undefined, 1)
  return Object.keys({ ...disturbed, ...calm })
    .filter((title) => ![disturbed[title], calm[title]].includes(UNDECIDED))
    .filter((title) => !isDeepStrictEqual(disturbed[title], calm[title]))
    .map((title) => `${title} ended as ${text(disturbed[title])}, undisturbed ${text(calm[title])}`)
}
