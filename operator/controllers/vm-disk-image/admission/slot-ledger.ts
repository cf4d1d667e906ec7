import { withoutUndefined } from '../../../base/equality.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { find } from '../../../kube/find.ts'
import type { RequestOptions } from '../../../kube/kube-client.ts'
import {
  compareResourceVersions,
  isTerminating,
  type KubeObject,
  keyOf,
  type ObjectMeta,
} from '../../../kube/kube-object.ts'
import { CONFIG_MAP } from '../../../kube/resource-types.ts'
import type { Basics } from '../../../runtime/basics.ts'
import { foreignIn, type LedgerObject, type LedgerState, parseLedger, renderLedger } from './decide/ledger-content.ts'
import { ANSWER_VALID_MS } from './decide/requests.ts'

export const LEDGER_NAME = 'sync-operator-slots'

/** How much is logged of what somebody else put into the ledger. */
const LOGGED_NAMES_MAX = 10
const NAME_MAX = 60

interface SlotLedgerOptions extends Pick<Basics, 'client' | 'clock' | 'log'> {
  /** Of the operator. */
  readonly namespace: string
  /** Reports whether a cache has the ConfigMap with this `<namespace>/<name>`. Default: it may be there. */
  readonly isCached?: (key: string) => boolean
}

/**
 * Stores the slots in one ConfigMap that is only replaced by compare-and-swap. The limit holds even if two processes believe that they lead,
 * because limit and holders are in the same object. The operator owns the whole object: the next write drops what somebody else put into it,
 * so that nobody can fill it up until no write fits.
 */
export class SlotLedger {
  readonly #options: SlotLedgerOptions
  #object: LedgerObject | undefined
  #state: LedgerState | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  /** The newest version that a watch reported. */
  #seenVersion = '0'
  /** Why the object cannot serve as the ledger. */
  #fault: string | undefined
  #isLoaded = false

  constructor(options: SlotLedgerOptions) {
    this.#options = options
  }

  /**
   * The last state that the API server returned; undefined before the first response. While a lost ledger is recreated this is
   * the previous state: no caller must conclude that nobody holds a slot.
   */
  get state(): LedgerState | undefined {
    return this.#state
  }

  /** Reports whether the last response is recent enough to create a DataVolume based on it. Time in which the process was frozen counts. */
  get isFresh(): boolean {
    return this.#options.clock.monotonic() - this.#askedAt < ANSWER_VALID_MS
  }

  /** Reports whether a ledger exists but cannot be used. */
  get isGarbled(): boolean {
    return this.#fault !== undefined
  }

  /**
   * Records the version that a watch event reports. The event of an in-flight write may arrive before its response, so
   * versions are compared only on demand: see {@link isOutdated}.
   */
  see({ metadata: { resourceVersion = '0' } }: KubeObject): void {
    if (compareResourceVersions(resourceVersion, this.#seenVersion) > 0) this.#seenVersion = resourceVersion
  }

  /** Reports whether a newer version exists than the one last read or written. Unreliable while a write is in flight. */
  get isOutdated(): boolean {
    return compareResourceVersions(this.#seenVersion, this.#object?.metadata.resourceVersion ?? '0') > 0
  }

  /**
   * Reads the ledger live. Returns undefined if there is none, or none that can be used. Throws ApiError.
   * The first time, a cache that has none is believed, as on a new cluster: if it is behind, {@link make} is refused.
   * @param most maximum number of holders, if known
   */
  async load(signal: AbortSignal, most?: number): Promise<LedgerState | undefined> {
    const isFirst = !this.#isLoaded
    this.#isLoaded = true
    if (isFirst && this.#options.isCached?.(keyOf(this.#key)) === false) return undefined
    return await this.#ask(
      (options) => find<LedgerObject>(this.#options.client, CONFIG_MAP, this.#key, options),
      signal,
      most,
    )
  }

  /**
   * Creates the first ledger, or a new one in place of one that was lost or corrupted. Throws AlreadyExists or Conflict if
   * somebody else was faster.
   */
  async make(state: LedgerState, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options
    const before = this.#object
    if (this.#fault !== undefined)
      log.warn({ because: this.#fault }, 'the slot ledger cannot be used: it is made again')
    if (before !== undefined && before.immutable !== true && !isTerminating(before))
      return await this.replace(state, signal)
    if (before !== undefined) await this.#remove(before, { timeoutMs: ANSWER_VALID_MS, signal })
    await this.#ask((options) => client.create(CONFIG_MAP, renderLedger(this.#key, state), options), signal)
  }

  /**
   * Replaces the state that was last read or written. Throws Conflict if it is no longer current, NotFound if the ledger
   * is gone, and NoAnswer if the outcome is unknown. The caller must then load the ledger again.
   */
  async replace(state: LedgerState, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options
    if (this.#object === undefined) throw new TypeError('the ledger has to be loaded before it is replaced')
    const before = this.#object
    const { name, namespace, uid, resourceVersion } = before.metadata
    const seen = withoutUndefined({ name, namespace, uid, resourceVersion }) as ObjectMeta
    await this.#ask((options) => client.replace(CONFIG_MAP, renderLedger(seen, state), options), signal)
    const foreign = foreignIn(before)
    if (foreign.length === 0) return
    const dropped = foreign.slice(0, LOGGED_NAMES_MAX).map((one) => one.slice(0, NAME_MAX))
    log.warn(
      { dropped, count: foreign.length },
      'the slot ledger belongs to the operator alone: what somebody else had put into it was dropped',
    )
  }

  get #key(): { readonly namespace: string; readonly name: string } {
    return { namespace: this.#options.namespace, name: LEDGER_NAME }
  }

  /** Deletes a ledger that is immutable or already being deleted, provided that nobody else has changed it since. */
  async #remove({ metadata }: LedgerObject, options: RequestOptions): Promise<void> {
    const { uid, finalizers = [] } = metadata
    let { resourceVersion } = metadata
    try {
      if (finalizers.length > 0) {
        const patch = { metadata: { resourceVersion, finalizers: [] } }
        const freed = await this.#options.client.mergePatch(CONFIG_MAP, metadata, patch, options)
        resourceVersion = freed.metadata.resourceVersion
      }
      await this.#options.client.delete(CONFIG_MAP, metadata, { ...options, uid, resourceVersion })
    } catch (error) {
      // It is gone already: only its finalizers kept it.
      if (!isApiError(error, 'NotFound')) throw error
    }
  }

  /** Sends a request, and takes over the ledger in its response. */
  async #ask(
    request: (options: RequestOptions) => Promise<LedgerObject | undefined>,
    signal: AbortSignal,
    most?: number,
  ): Promise<LedgerState | undefined> {
    // Taken before the request is sent: a frozen process may read a response long after it was true.
    const askedAt = this.#options.clock.monotonic()
    const object = await request({ timeoutMs: ANSWER_VALID_MS, signal })
    const state = object && parseLedger(object, most)
    this.#object = object
    this.#fault = typeof state === 'string' ? state : undefined
    if (object === undefined) this.#seenVersion = '0'
    if (typeof state !== 'object') return undefined
    this.#state = state
    this.#askedAt = askedAt
    return state
  }
}
