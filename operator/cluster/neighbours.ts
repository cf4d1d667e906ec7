import type { LiveReadServices } from '../runtime/live-read-loop.ts'
import { LeasePulse } from './lease-pulse.ts'
import {
  type AwaitedNeighbours,
  NEIGHBOURS,
  type Neighbour,
  type NeighbourFacts,
  neighbourUnreached,
} from './neighbour-facts.ts'

const LEASES: Readonly<Record<Neighbour, { readonly namespace: string; readonly name: string }>> = {
  CDI: { namespace: 'cdi', name: 'cdi-controller-leader-election-helper' },
  KubeVirt: { namespace: 'kubevirt', name: 'virt-controller' },
}
/** How long a webhook that could not be called counts as gone if nothing tries again. Retries are at most five minutes apart. */
const REFUSED_MS = 300_000

export interface NeighboursOptions extends LiveReadServices {
  readonly cdiNamespace?: string | undefined
  readonly kubevirtNamespace?: string | undefined
}

/**
 * Knows for all kinds which neighbours are away: by the Leases of their controllers, and by webhooks that cannot be called. A Lease that does not exist, or
 * may not be read, tells nothing. It is read every ten seconds while something waits for the neighbour, and once a minute otherwise.
 */
export class Neighbours {
  readonly #clock: LiveReadServices['clock']
  readonly #pulses: Readonly<Record<Neighbour, LeasePulse>>
  readonly #waiting: Readonly<Record<Neighbour, Map<string, () => void>>> = { CDI: new Map(), KubeVirt: new Map() }
  /** Monotonic time when a webhook of the neighbour last could not be called. */
  readonly #unreachedAt = new Map<Neighbour, number>()

  constructor({ cdiNamespace, kubevirtNamespace, ...services }: NeighboursOptions) {
    this.#clock = services.clock
    const pulse = (neighbour: Neighbour, namespace = LEASES[neighbour].namespace) =>
      new LeasePulse({
        ...services,
        name: `neighbour-${neighbour.toLowerCase()}`,
        lease: { ...LEASES[neighbour], namespace },
        isAwaited: () => this.#waiting[neighbour].size > 0,
        onChange: () => {
          for (const wake of [...this.#waiting[neighbour].values()]) wake()
        },
      })
    this.#pulses = { CDI: pulse('CDI', cdiNamespace), KubeVirt: pulse('KubeVirt', kubevirtNamespace) }
  }

  get cdi(): LeasePulse {
    return this.#pulses.CDI
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Object.values(this.#pulses).map((one) => one.run(signal)))
  }

  /** Records what an object waits for, and returns what is known of it. @param wake called when that changes */
  await(uid: string, awaited: readonly Neighbour[], wake: () => void): AwaitedNeighbours {
    for (const neighbour of NEIGHBOURS)
      if (awaited.includes(neighbour)) this.#waiting[neighbour].set(uid, wake)
      else this.#waiting[neighbour].delete(uid)
    return Object.fromEntries(awaited.map((neighbour) => [neighbour, this.#factsOf(neighbour)]))
  }

  forget(uid: string): void {
    for (const waiting of Object.values(this.#waiting)) waiting.delete(uid)
  }

  /** Takes the message of a request that failed. */
  noteFailure(message: string): void {
    const neighbour = neighbourUnreached(message)
    if (neighbour !== undefined) this.#unreachedAt.set(neighbour, this.#clock.monotonic())
  }

  /** For metrics. */
  isAway(neighbour: Neighbour): boolean {
    const unreachedMs = this.#clock.monotonic() - (this.#unreachedAt.get(neighbour) ?? Number.NEGATIVE_INFINITY)
    return this.#pulses[neighbour].isMissed || unreachedMs < REFUSED_MS
  }

  #factsOf(neighbour: Neighbour): NeighbourFacts {
    const pulse = this.#pulses[neighbour]
    const workedUntil = pulse.workedUntil()
    const { presence, awayAt } = pulse
    const wall = (at: number) => this.#clock.now() - (this.#clock.monotonic() - at)
    return {
      presence,
      ...(presence !== 'unknown' && { workedUntil: wall(workedUntil) }),
      ...(awayAt !== undefined && { awayAt: wall(awayAt) }),
    }
  }
}
