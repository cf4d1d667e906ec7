import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { randomFrom, seedFor } from '../random.ts'
import { type NetworkAction, REQUEST_FAULTS, WATCH_FAULTS } from '../schedule.ts'

/**
 * What a story of the gate emphasizes. `gate`: everything at once. `gateCalm`: fast, reliable links, so that nothing excuses a wrong order.
 * `gateLate`: creates that arrive late. `gateFrozen`: leaders that freeze in the middle of a large batch, and thaw when others have led for a while.
 */
export const GATE_KINDS = ['gate', 'gateCalm', 'gateLate', 'gateFrozen'] as const
export type GateKind = (typeof GATE_KINDS)[number]

/** Everything that happens in one story of the gate, as plain data. Times are virtual milliseconds, shares 0 to 1. */
export interface GateStory {
  /** Seed of everything that is random in the run. */
  readonly seed: number
  readonly replicas: 1 | 2
  readonly images: number
  readonly limit: number
  readonly downloadMs: Range
  /** From the end of a download to the next wish. */
  readonly restMs: Range
  readonly shares: Shares
  readonly steps: readonly GateStep[]
}

export interface Range {
  readonly least: number
  readonly most: number
}

/** How often each of these happens to an image. */
export interface Shares {
  /** Downloads that are torn down before they succeed. */
  readonly torn: number
  /** DataVolumes that are deleted, finished or not: in the background, so that the importer may outlive the DataVolume. */
  readonly background: number
  /** Successful downloads that have an importer pod, if they take long enough; those that are torn down have one, unless that is sooner. */
  readonly pods: number
  /** Wishes that are withdrawn before their download is finished. */
  readonly fickle: number
  /** Wishes that are reported before their ticket and finalizer are written. */
  readonly early: number
  /** Retries that begin before the previous DataVolume is gone. */
  readonly hasty: number
  /** Creates that wait in the client before they are sent. */
  readonly turns: number
}

export interface GateStep {
  readonly atMs: number
  readonly action: GateAction
}

export type GateAction =
  | NetworkAction
  | { readonly do: 'limit'; readonly limit: number }
  /** The others stop leading this long after the replica starts to lead, or before it if negative. They get no notice. */
  | { readonly do: 'lead'; readonly replica: number; readonly overlapMs: number }
  | { readonly do: 'crash' | 'freeze'; readonly replica: number; readonly forMs: number }
  | { readonly do: 'dropLedger' | 'garbleLedger' }

/** The same kind and seed give the same story. */
export function gateStory(kind: GateKind, seed: number): GateStory {
  return new Draw(kind, seed).story()
}

class Draw {
  readonly #kind: GateKind
  readonly #seed: number
  readonly #random: () => number

  constructor(kind: GateKind, seed: number) {
    this.#kind = kind
    this.#seed = seed
    this.#random = randomFrom(seedFor(seed, kind))
  }

  story(): GateStory {
    if (this.#kind === 'gateFrozen') return this.#frozen()
    const replicas = this.#isOdds(0.6) ? 2 : 1
    const lengthMs = this.#between(90, 240) * SECOND
    const least = this.#between(5, 300)
    return {
      seed: this.#seed,
      replicas,
      images: this.#between(1, this.#isOdds(0.3) ? 80 : 30),
      limit: this.#limit(),
      downloadMs: { least, most: least + this.#between(0, 1_500) },
      restMs: { least: 0, most: this.#between(1, 1_500) },
      shares: this.#shares(),
      steps: this.#steps(replicas, lengthMs).toSorted((a, b) => a.atMs - b.atMs),
    }
  }

  #frozen(): GateStory {
    const rounds = this.#between(1, 4)
    return {
      seed: this.#seed,
      replicas: 2,
      images: this.#between(20, 60),
      limit: 0,
      downloadMs: { least: 100, most: 1_000 },
      restMs: { least: 0, most: 500 },
      shares: { ...this.#shares(), fickle: 0.5, turns: 0 },
      steps: Array.from({ length: rounds }, (_, round) => this.#sleep(round)).flat(),
    }
  }

  /** All images wait and are admitted at once. The leader that admits them freezes before it has created all their DataVolumes. */
  #sleep(round: number): GateStep[] {
    const [leader, other] = round % 2 === 0 ? [0, 1] : [1, 0]
    const atMs = (round + 1) * MINUTE
    return [
      { atMs: atMs - 40 * SECOND, action: { do: 'limit', limit: 0 } },
      { atMs: atMs - 1 * SECOND, action: { do: 'limit', limit: this.#between(10, 50) } },
      {
        atMs: atMs - 1 * SECOND + this.#between(10, 200),
        action: { do: 'freeze', replica: leader, forMs: 35 * SECOND },
      },
      { atMs, action: { do: 'lead', replica: other, overlapMs: 0 } },
      { atMs: atMs + 19 * SECOND, action: { do: 'compact' } },
    ]
  }

  #shares(): Shares {
    return {
      torn: this.#random() * 0.4,
      background: this.#random(),
      pods: this.#random() * 0.5,
      fickle: this.#random() * 0.2,
      early: this.#random() * 0.5,
      hasty: this.#random() * 0.3,
      turns: this.#kind === 'gateCalm' ? 0 : this.#random() * 0.02,
    }
  }

  #steps(replicas: number, lengthMs: number): GateStep[] {
    const at = (action: GateAction): GateStep => ({ atMs: this.#random() * lengthMs, action })
    const many = (most: number, action: () => GateAction) =>
      Array.from({ length: this.#between(0, most) }, () => at(action()))
    const limits = many(15, () => ({ do: 'limit', limit: this.#limit() }))
    const leads = many(8, () => this.#changeOfLead(replicas))
    const end: GateStep = { atMs: lengthMs, action: { do: 'compact' } }
    if (this.#kind === 'gateCalm') return [...limits, ...leads, end]
    const harms = many(10, () => this.#harm(replicas))
    const faults = many(this.#kind === 'gateLate' ? 4 : 12, () => this.#fault(lengthMs))
    const late = this.#kind === 'gateLate' ? [this.#lateness(lengthMs)] : []
    const losses = this.#isOdds(0.25) ? many(2, () => ({ do: this.#isOdds(0.5) ? 'dropLedger' : 'garbleLedger' })) : []
    return [...limits, ...leads, ...harms, ...faults, ...late, ...losses, end]
  }

  #changeOfLead(replicas: number): GateAction {
    return { do: 'lead', replica: this.#between(0, replicas - 1), overlapMs: this.#between(-5, 10) * SECOND }
  }

  #harm(replicas: number): GateAction {
    const replica = this.#between(0, replicas - 1)
    return this.#isOdds(0.5)
      ? { do: 'crash', replica, forMs: this.#between(0, 10) * SECOND }
      : { do: 'freeze', replica, forMs: this.#between(1, 40) * SECOND }
  }

  #fault(lengthMs: number): NetworkAction {
    const forMs = Math.min(lengthMs, this.#between(1, 30) * SECOND)
    const percent = this.#isOdds(0.2) ? 100 : this.#between(1, 60)
    const kind = this.#pick([undefined, 'DataVolume', 'ConfigMap', 'Pod'])
    if (this.#isOdds(0.5)) return { do: 'requestFaults', fault: this.#pick(REQUEST_FAULTS), percent, forMs, kind }
    if (this.#isOdds(0.2)) return { do: this.#isOdds(0.5) ? 'compact' : 'breakWatches' }
    return { do: 'watchFaults', fault: this.#pick(WATCH_FAULTS), percent: Math.min(percent, 20), forMs, kind }
  }

  #lateness(forMs: number): GateStep {
    const percent = this.#between(5, 60)
    return { atMs: 0, action: { do: 'requestFaults', fault: 'late', percent, forMs, kind: 'DataVolume' } }
  }

  #limit(): number {
    if (this.#isOdds(0.1)) return 0
    return this.#isOdds(0.15) ? this.#between(10, 50) : this.#between(1, 9)
  }

  #isOdds(share: number): boolean {
    return this.#random() < share
  }

  #between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1))
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T
  }
}
