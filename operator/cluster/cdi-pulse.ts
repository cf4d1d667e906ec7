import { isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { Raw } from '../kube/kube-object.ts'
import { LEASE } from '../kube/resource-types.ts'
import { LookLoop, type LookServices } from '../runtime/look-loop.ts'
import type { Wake } from '../runtime/wake.ts'

/** Lease of cdi-controller. It is renewed every two seconds while a controller works. */
const NAME = 'cdi-controller-leader-election-helper'
const LOOK_EVERY_MS = 10_000
/** Polling stops if no caller asks for this long. Callers ask again within half of it. */
const LISTEN_MS = 60_000
/** Twice as long as another cdi-controller needs to become the leader. */
const SILENT_MS = 30_000
const KEY = 'cdi'

export interface CdiPulseOptions extends LookServices {
  /** Namespace where CDI is installed. A Lease of the same name in another namespace belongs to someone else and is ignored. */
  readonly cdiNamespace?: string | undefined
}

/**
 * Reports whether CDI works, based on the Lease of its controller. While CDI is down, importers continue but the reported progress does not change.
 * The same is seen when a source stalls. Each poll is one request, and there are polls only while a caller asks: none while downloads progress.
 */
export class CdiPulse extends LookLoop {
  readonly #options: CdiPulseOptions
  /** Monotonic time when a caller last asked; undefined while no caller asks. */
  #askedAt: number | undefined
  #lookedAt = 0
  #heardAt = 0
  /** renewTime of the Lease; undefined before the first poll, empty if there is no Lease. */
  #beat: string | undefined

  constructor(options: CdiPulseOptions) {
    super(options, 'vmdiskimage-cdi-pulse', async (_key, signal) => await this.#look(signal))
    this.#options = options
  }

  /** Returns the monotonic time until which CDI is known to have worked. The caller asks because a download makes no progress. */
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

  /** Whether the Lease was polled and has not been renewed for a while. */
  get isSilent(): boolean {
    return this.#askedAt !== undefined && Boolean(this.#beat) && this.#lookedAt - this.#heardAt >= SILENT_MS
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
      const lease: Raw = await find(client, LEASE, { namespace, name: NAME }, { signal })
      return String(lease?.spec?.renewTime ?? '').slice(0, 100)
    } catch (error) {
      // The access rights are those of an earlier installation. It is unknown whether CDI works, as without a Lease.
      if (isApiError(error, 'Rejected')) return ''
      throw error
    }
  }
}
