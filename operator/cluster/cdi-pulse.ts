import { isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { LEASE } from '../kube/resource-types.ts'
import { LookLoop, type LookServices } from '../runtime/look-loop.ts'
import type { Wake } from '../runtime/wake.ts'

/** Of cdi-controller. It is renewed every two seconds, for as long as one works. */
const NAME = 'cdi-controller-leader-election-helper'
const LOOK_EVERY_MS = 10_000
/** Those who ask do so again within half of this. */
const LISTEN_MS = 60_000
/** Twice as long as it takes another one to lead. */
const SILENT_MS = 30_000
const KEY = 'cdi'

export interface CdiPulseOptions extends LookServices {
  /** Where CDI is installed. A Lease of the same name anywhere else is somebody's, and says nothing. */
  readonly cdiNamespace?: string | undefined
}

interface Lease extends KubeObject {
  readonly spec?: { readonly renewTime?: unknown }
}

/**
 * Whether CDI is at work, by the Lease of its controller. While it is away nothing moves, though importers go on; where nothing moves because a
 * source is silent, CDI has as little to say. A look is one request, and only while somebody listens: none at all while downloads move.
 */
export class CdiPulse extends LookLoop {
  readonly #options: CdiPulseOptions
  /** By the monotonic clock; undefined while nobody listens. */
  #askedAt: number | undefined
  #lookedAt = 0
  #heardAt = 0
  /** When its Lease was renewed, as it says; undefined before the first look, empty where there is none. */
  #beat: string | undefined

  constructor(options: CdiPulseOptions) {
    super(options, 'vmdiskimage-cdi-pulse', async (_key, signal) => await this.#look(signal))
    this.#options = options
  }

  /** Until when CDI is known to have been at work, by the monotonic clock; asked because something stands still. */
  workedUntil(): number {
    const now = this.#options.clock.monotonic()
    if (this.#askedAt === undefined) {
      this.#heardAt = now
      this.#lookedAt = now
      this.#beat = undefined
      this.lookAfter(KEY, 0)
    }
    this.#askedAt = now
    return this.#beat === '' ? now : this.#heardAt
  }

  /** It was looked for, and has not been at work for a while. */
  get isSilent(): boolean {
    const hasLease = this.#beat !== undefined && this.#beat !== ''
    return this.#askedAt !== undefined && hasLease && this.#lookedAt - this.#heardAt >= SILENT_MS
  }

  async #look(signal: AbortSignal): Promise<Wake | undefined> {
    const { clock } = this.#options
    if (this.#askedAt === undefined || clock.monotonic() - this.#askedAt >= LISTEN_MS) {
      this.#askedAt = undefined
      return undefined
    }
    const beat = await this.#read(signal)
    const isRenewed = this.#beat !== undefined && beat !== '' && beat !== this.#beat
    this.#lookedAt = clock.monotonic()
    this.#beat = beat
    if (isRenewed) this.#heardAt = this.#lookedAt
    return { afterMs: LOOK_EVERY_MS, because: 'CDI should have renewed its Lease by then' }
  }

  async #read(signal: AbortSignal): Promise<string> {
    const { client, cdiNamespace: namespace = 'cdi' } = this.#options
    try {
      const lease = await find<Lease>(client, LEASE, { namespace, name: NAME }, { signal })
      return String(lease?.spec?.renewTime ?? '').slice(0, 100)
    } catch (error) {
      // Rights of an earlier installation: nothing tells whether it works, as where it has no Lease.
      if (isApiError(error, 'Rejected')) return ''
      throw error
    }
  }
}
