import { isApiError } from '../../../kube/api-error.ts'
import { find } from '../../../kube/find.ts'
import type { RequestOptions } from '../../../kube/kube-client.ts'
import { compareResourceVersions, isTerminating, type KubeObject, type ObjectMeta } from '../../../kube/kube-object.ts'
import { CONFIG_MAP } from '../../../kube/resource-types.ts'
import type { Basics } from '../../../runtime/basics.ts'
import { withoutUndefined } from '../../../runtime/conditions.ts'
import { foreignIn, type LedgerObject, type LedgerState, parseLedger, renderLedger } from './decide/ledger-content.ts'

export const LEDGER_NAME = 'sync-operator-slots'
/** So long an answer of the ledger is good after it was asked for: one later than this is too old to act on. */
export const ANSWER_VALID_MS = 5_000

/** So much is logged of what somebody else put into the ledger. */
const NAMES_TOLD = 10
const NAME_MAX = 60

interface SlotLedgerOptions extends Pick<Basics, 'client' | 'clock' | 'log'> {
  /** Of the operator. */
  readonly namespace: string
}

/**
 * The slots: one ConfigMap that is only ever replaced by compare-and-swap. The limit holds even where two processes believe that they lead,
 * because limit and holders are in the same object. The object is ours alone: what somebody else puts into it is dropped with the next write,
 * so that nobody can fill it until no write fits.
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

  constructor(options: SlotLedgerOptions) {
    this.#options = options
  }

  /**
   * The last state that the API server told us, undefined before the first answer. While a lost ledger is created again this is
   * the one before: nobody must believe meanwhile that nobody holds a slot.
   */
  get state(): LedgerState | undefined {
    return this.#state
  }

  /** Whether the last answer is young enough to create a DataVolume on the strength of it. Frozen time counts. */
  get isFresh(): boolean {
    return this.#options.clock.monotonic() - this.#askedAt < ANSWER_VALID_MS
  }

  /** Whether there is a ledger, and it cannot be used. */
  get isGarbled(): boolean {
    return this.#fault !== undefined
  }

  /**
   * Takes in what a watch tells of it. While a write is under way its event may come before its answer, so what
   * was seen is only compared with what is known when somebody asks: see {@link isOutdated}.
   */
  see({ metadata: { resourceVersion = '0' } }: KubeObject): void {
    if (compareResourceVersions(resourceVersion, this.#seenVersion) > 0) this.#seenVersion = resourceVersion
  }

  /** Whether there is a newer version than the one that we read or wrote last. Not to be asked while a write is under way. */
  get isOutdated(): boolean {
    return compareResourceVersions(this.#seenVersion, this.#object?.metadata.resourceVersion ?? '0') > 0
  }

  /**
   * Reads it live. Undefined: there is none, or none that can be used. Throws ApiError.
   * @param most holders that it can have, where that is known
   */
  async load(signal: AbortSignal, most?: number): Promise<LedgerState | undefined> {
    const askedAt = this.#options.clock.monotonic()
    const key = { namespace: this.#options.namespace, name: LEDGER_NAME }
    const object = await find<LedgerObject>(this.#options.client, CONFIG_MAP, key, {
      timeoutMs: ANSWER_VALID_MS,
      signal,
    })
    if (object === undefined) {
      this.#object = undefined
      this.#fault = undefined
      this.#seenVersion = '0'
      return undefined
    }
    this.#take(object, askedAt, most)
    return this.isGarbled ? undefined : this.#state
  }

  /**
   * Makes the first ledger, or one in place of one that was lost or garbled. Throws AlreadyExists or Conflict when somebody
   * else was faster.
   */
  async make(state: LedgerState, signal: AbortSignal): Promise<void> {
    const options = { timeoutMs: ANSWER_VALID_MS, signal }
    if (this.#fault !== undefined)
      this.#options.log.warn({ because: this.#fault }, 'the slot ledger cannot be used: it is made again')
    if (this.#object !== undefined) {
      if (this.#object.immutable !== true && !isTerminating(this.#object)) return await this.replace(state, signal)
      await this.#remove(this.#object, options)
    }
    const askedAt = this.#options.clock.monotonic()
    const ledger = renderLedger({ namespace: this.#options.namespace, name: LEDGER_NAME }, state)
    this.#take(await this.#options.client.create(CONFIG_MAP, ledger, options), askedAt)
  }

  /**
   * Replaces the state that was last read or written. Throws Conflict when it is not the current one any more, NotFound
   * when the ledger is gone, and NoAnswer when nobody knows: then load again.
   */
  async replace(state: LedgerState, signal: AbortSignal): Promise<void> {
    if (this.#object === undefined) throw new TypeError('the ledger has to be loaded before it is replaced')
    const askedAt = this.#options.clock.monotonic()
    const before = this.#object
    const { name, namespace, uid, resourceVersion } = before.metadata
    const seen = withoutUndefined({ name, namespace, uid, resourceVersion }) as ObjectMeta
    const options = { timeoutMs: ANSWER_VALID_MS, signal }
    this.#take(await this.#options.client.replace(CONFIG_MAP, renderLedger(seen, state), options), askedAt)
    this.#tellDropped(foreignIn(before))
  }

  #tellDropped(foreign: readonly string[]): void {
    if (foreign.length === 0) return
    const dropped = foreign.slice(0, NAMES_TOLD).map((name) => name.slice(0, NAME_MAX))
    const facts = { dropped, count: foreign.length }
    this.#options.log.warn(
      facts,
      'the slot ledger belongs to the operator alone: what somebody else had put into it was dropped',
    )
  }

  /** What nobody can write, or is about to go whatever is written: nobody else may have changed it since. */
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
      // The last finalizer has kept it.
      if (!isApiError(error, 'NotFound')) throw error
    }
  }

  #take(object: LedgerObject, askedAt: number, most?: number): void {
    const state = parseLedger(object, most)
    this.#object = object
    this.#fault = typeof state === 'string' ? state : undefined
    if (typeof state === 'string') return
    this.#state = state
    // From before the question was sent: a frozen process may read an answer long after it was true.
    this.#askedAt = askedAt
  }
}
