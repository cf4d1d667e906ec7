import { isApiError } from '../../kube/api-error.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import { LEASE } from '../../kube/resource-types.ts'
import { LookLoop, type LookLoopOptions } from '../../runtime/look-loop.ts'
import type { Wake } from '../../runtime/wake.ts'

/** Of cdi-controller, in the namespace in which CDI is installed. It is renewed every two seconds, for as long as one works. */
const NAME = 'cdi-controller-leader-election-helper'
const LOOK_EVERY_MS = 10_000
/** Whoever asks does so again within half of this. */
const LISTEN_MS = 60_000
/** Twice as long as it takes another one to lead. */
const SILENT_MS = 30_000
const KEY = 'cdi'

/**
 * Whether CDI is at work, by the Lease of its controller. While it is away nothing moves, though importers go on; where nothing moves because a
 * source is silent, CDI has as little to say. A look is one short list, and only while somebody listens: none at all while downloads move.
 *
 * Any Lease of that name that is renewed counts, wherever it is, so nobody can make CDI look as if it were away.
 */
export class CdiPulse {
  readonly #options: Omit<LookLoopOptions, 'onNews'>
  readonly #loop: LookLoop
  /** By the monotonic clock; undefined while nobody listens. */
  #askedAt: number | undefined
  #lookedAt = 0
  #heardAt = 0
  /** When its Leases were renewed, as they say; undefined before the first look, empty where there is none. */
  #beats: ReadonlySet<string> | undefined

  constructor(options: Omit<LookLoopOptions, 'onNews'>) {
    this.#options = options
    this.#loop = new LookLoop(
      { ...options, onNews: () => undefined },
      'vmdiskimage-cdi-pulse',
      async (_key, signal) => await this.#look(signal),
    )
  }

  /** Serves until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal)
  }

  /** Until when CDI is known to have been at work, by the monotonic clock; asked because something stands still. */
  workedUntil(): number {
    const now = this.#options.clock.monotonic()
    if (this.#askedAt === undefined) {
      this.#heardAt = now
      this.#lookedAt = now
      this.#beats = undefined
      this.#loop.lookAfter(KEY, 0)
    }
    this.#askedAt = now
    return this.#beats?.size === 0 ? now : this.#heardAt
  }

  /** It was looked for, and has not been at work for a while. */
  get isSilent(): boolean {
    const hasLease = this.#beats !== undefined && this.#beats.size > 0
    return this.#askedAt !== undefined && hasLease && this.#lookedAt - this.#heardAt >= SILENT_MS
  }

  async #look(signal: AbortSignal): Promise<Wake | undefined> {
    const { clock } = this.#options
    if (this.#askedAt === undefined || clock.monotonic() - this.#askedAt >= LISTEN_MS) {
      this.#askedAt = undefined
      return undefined
    }
    const beats = await this.#read(signal)
    const before = this.#beats
    this.#lookedAt = clock.monotonic()
    this.#beats = beats
    if (before !== undefined && [...beats].some((beat) => !before.has(beat))) this.#heardAt = this.#lookedAt
    return { afterMs: LOOK_EVERY_MS, because: 'CDI should have renewed its Lease by then' }
  }

  async #read(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { client } = this.#options
    const beats = new Set<string>()
    try {
      const listing = { fieldSelector: `metadata.name=${NAME}`, signal, project: beatOf }
      for await (const beat of listAll(client, LEASE, listing)) beats.add(beat)
    } catch (error) {
      // Rights of an earlier installation: nothing tells whether it works, as where it has no Lease.
      if (!isApiError(error, 'Rejected')) throw error
    }
    return beats
  }
}

function beatOf({ metadata, spec }: KubeObject & { readonly spec?: { readonly renewTime?: unknown } }): string {
  return `${metadata.namespace} ${String(spec?.renewTime ?? '').slice(0, 100)}`
}
