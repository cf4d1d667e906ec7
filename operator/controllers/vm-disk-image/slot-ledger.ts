import { z } from 'zod'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { compareResourceVersions, type KubeObject } from '../../kube/kube-object.ts'
import { CONFIG_MAP } from '../../kube/resource-types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Holder } from './world.ts'

export const LEDGER_NAME = 'sync-operator-slots'
/** Also the time that a claim is good for after it was asked for: an answer later than this is too old to act on. */
export const CLAIM_VALID_MS = 5_000

interface LedgerObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const holdersSchema = z.array(
  z.object({
    uid: z.string(),
    namespace: z.string(),
    name: z.string(),
    revision: z.string(),
    attempt: z.int().min(1),
    claimant: z.string(),
  }),
)

/** The limit in force and who downloads under it, as one object says at one version. */
export interface LedgerState {
  readonly limit: number
  readonly holders: readonly Holder[]
}

/**
 * The slots: one ConfigMap that is only ever replaced by compare-and-swap. Whoever believes to lead, the limit holds,
 * because limit and holders are in the same object.
 */
export class SlotLedger {
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #namespace: string
  #object: LedgerObject | undefined
  #state: LedgerState | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  /** The newest version that a watch told of. */
  #seenVersion = '0'
  #isReadable = false

  constructor(options: { client: KubeClient; clock: Clock; namespace: string }) {
    this.#client = options.client
    this.#clock = options.clock
    this.#namespace = options.namespace
  }

  /**
   * The last state that the API server told us, undefined before the first answer. While a lost ledger is made anew this is
   * the one before: nobody must believe meanwhile that nobody holds a slot.
   */
  get state(): LedgerState | undefined {
    return this.#state
  }

  /** Whether the last answer is young enough to create a DataVolume on the strength of it. Frozen time counts. */
  get isFresh(): boolean {
    return this.#clock.monotonic() - this.#askedAt < CLAIM_VALID_MS
  }

  /** Whether there is a ledger, and nobody can read it. */
  get isGarbled(): boolean {
    return this.#object !== undefined && !this.#isReadable
  }

  /**
   * Takes in what a watch tells of it. While a write of ours is under way its event may come before its answer, so what
   * was seen is only compared with what is known when somebody asks: see {@link isOutdated}.
   */
  see({ metadata: { resourceVersion = '0' } }: KubeObject): void {
    if (compareResourceVersions(resourceVersion, this.#seenVersion) > 0) this.#seenVersion = resourceVersion
  }

  /** Whether there is a newer version than the one that we read or wrote last. Not to be asked while a write is under way. */
  get isOutdated(): boolean {
    return compareResourceVersions(this.#seenVersion, this.#object?.metadata.resourceVersion ?? '0') > 0
  }

  /** Reads it live. Undefined: there is none, or none that can be read. Throws ApiError. */
  async load(signal: AbortSignal): Promise<LedgerState | undefined> {
    const askedAt = this.#clock.monotonic()
    try {
      const key = { namespace: this.#namespace, name: LEDGER_NAME }
      const options = { timeoutMs: CLAIM_VALID_MS, signal }
      this.#take(await this.#client.get<LedgerObject>(CONFIG_MAP, key, options), askedAt)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      this.#object = undefined
      this.#seenVersion = '0'
      return undefined
    }
    return this.#isReadable ? this.#state : undefined
  }

  /**
   * Makes the first ledger, or one in place of one that was lost or garbled. Throws AlreadyExists or Conflict when somebody
   * else was faster.
   */
  async make(state: LedgerState, signal: AbortSignal): Promise<void> {
    if (this.#object !== undefined) return await this.replace(state, signal)
    const askedAt = this.#clock.monotonic()
    const object: LedgerObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: LEDGER_NAME,
        namespace: this.#namespace,
        labels: { 'app.kubernetes.io/managed-by': 'open-terrain-operator' },
      },
      data: dataOf(state),
    }
    this.#take(await this.#client.create(CONFIG_MAP, object, { timeoutMs: CLAIM_VALID_MS, signal }), askedAt)
  }

  /**
   * Replaces the state that was last read or written. Throws Conflict when it is not the current one any more, NotFound
   * when the ledger is gone, and NoAnswer when nobody knows: then load again.
   */
  async replace(state: LedgerState, signal: AbortSignal): Promise<void> {
    if (this.#object === undefined) throw new TypeError('the ledger has to be loaded before it is replaced')
    const askedAt = this.#clock.monotonic()
    const next: LedgerObject = { ...this.#object, data: { ...this.#object.data, ...dataOf(state) } }
    this.#take(await this.#client.replace(CONFIG_MAP, next, { timeoutMs: CLAIM_VALID_MS, signal }), askedAt)
  }

  #take(object: LedgerObject, askedAt: number): void {
    const state = stateOf(object)
    this.#object = object
    this.#isReadable = state !== undefined
    if (state === undefined) return
    this.#state = state
    // From before the question was sent: a frozen process may read an answer long after it was true.
    this.#askedAt = askedAt
  }
}

function dataOf({ limit, holders }: LedgerState): Record<string, string> {
  return { limit: String(limit), holders: JSON.stringify(holders) }
}

/** A ledger that somebody edited beyond recognition is as good as none: it is made anew from what runs. */
function stateOf({ data = {} }: LedgerObject): LedgerState | undefined {
  const { limit = '', holders: text = '[]' } = data
  const holders = holdersSchema.safeParse(parseJson(text))
  if (!/^\d{1,9}$/.test(limit) || !holders.success) return undefined
  return { limit: Number(limit), holders: holders.data }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
