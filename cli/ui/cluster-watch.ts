import type { Clock } from '../../operator/base/clock.ts'
import type { LedgerObject } from '../../operator/controllers/vm-disk-image/admission/decide/ledger-content.ts'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import type { Logger } from '../../operator/runtime/log.ts'
import { Reflector, type ReflectorOptions } from '../../operator/runtime/reflector.ts'
import { type Change, Store, type Stored } from '../../operator/runtime/store.ts'
import { slotsInUse } from '../queue/queue-picture.ts'
import { type LedgerSeen, ledgerIn, unseenLedger } from '../queue/show-queue.ts'
import { type KeptRow, keptOf, TYPES } from './row-of.ts'
import { type KindUpdate, type Row, type SlotsUpdate, UI_KINDS, type UiKind, type Update } from './rows.ts'

/** Changes are sent together: a page that is told of each one alone would do nothing else while 500 labs start. */
const TOGETHER_MS = 250

/** How soon a problem is looked at again: nothing else may show that it is over. */
const PROBLEM_MS = 2_000

/** How the API server says that a right is missing. */
const FORBIDDEN = /\bforbidden\b/i

interface ClusterWatchOptions {
  readonly client: KubeClient
  readonly clock: Clock
  /** From 0 to 1, as Math.random. */
  readonly random: () => number
  /** Where the ledger of slots is. */
  readonly operatorNamespace: string
}

/** A kind that is followed, or the ledger of slots, and why its last read failed. */
interface Source<T extends Stored> {
  readonly store: Store<T>
  readonly reflector: Reflector<T>
  /** When it failed is on the monotonic clock. */
  trouble: { readonly text: string; readonly at: number } | undefined
  isListed: boolean
}

/** One kind, as far as the caller may see it, and what pages were not told yet. */
interface Followed {
  readonly source: Source<KeptRow>
  readonly put: Map<string, Row>
  readonly gone: Set<string>
}

/** Keeps what the page shows: lists and watches each kind once, however many pages are open, with the rights of the caller. */
export class ClusterWatch {
  readonly #options: ClusterWatchOptions
  readonly #followed: Readonly<Record<UiKind, Followed>>
  readonly #ledger: Source<LedgerObject>
  readonly #listeners = new Set<(update: Update) => void>()
  #cancelFlush: (() => void) | undefined
  #cancelLook: (() => void) | undefined
  #areSlotsNew = true

  constructor(options: ClusterWatchOptions) {
    this.#options = options
    const entries = UI_KINDS.map((kind) => [kind, this.#follow(kind)] as const)
    this.#followed = Object.fromEntries(entries) as Record<UiKind, Followed>
    const selection = { namespace: options.operatorNamespace, fieldSelector: `metadata.name=${LEDGER_NAME}` }
    this.#ledger = this.#source({ type: CONFIG_MAP, selection, project: (object) => object as LedgerObject })
    this.#ledger.store.onChange(() => this.#slotsChanged())
  }

  /** Follows all kinds until stopped. No error ends it: a kind that cannot be read is a problem of the update. */
  async run(signal: AbortSignal): Promise<void> {
    const reflectors = [...UI_KINDS.map((kind) => this.#followed[kind].source.reflector), this.#ledger.reflector]
    await Promise.all(reflectors.map((reflector) => reflector.run(signal)))
    this.#cancelFlush?.()
    this.#cancelLook?.()
  }

  /** Returns all that is known now. */
  everything(): Update {
    const kinds = UI_KINDS.map((kind) => {
      const rows = [...this.#followed[kind].source.store.values()].map(({ row }) => row)
      return [kind, { put: rows, gone: [] }] as const
    })
    return { isWhole: true, kinds: Object.fromEntries(kinds), slots: this.#slots(), ...this.#reach() }
  }

  /** Calls `listener` with what has changed, at most four times a second, until the returned function is called. */
  subscribe(listener: (update: Update) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #follow(kind: UiKind): Followed {
    const source = this.#source({ type: TYPES[kind], project: (object) => keptOf(kind, object) })
    const followed: Followed = { source, put: new Map(), gone: new Set() }
    source.store.onChange((change) => this.#note(followed, change))
    if (kind === 'images') source.store.onChange(() => this.#slotsChanged())
    return followed
  }

  #source<T extends Stored>(wanted: Pick<ReflectorOptions<T>, 'type' | 'selection' | 'project'>): Source<T> {
    const { client, clock, random } = this.#options
    const failed = (facts: unknown): void => {
      const { error } = facts as { readonly error?: string }
      source.trouble = { text: error ?? 'it cannot be read', at: clock.monotonic() }
      this.#slotsChanged()
    }
    const log = { debug: () => undefined, info: () => undefined, warn: failed, error: failed, child: () => log }
    const store = new Store<T>()
    const onRelist = (): void => {
      source.isListed = true
      this.#slotsChanged()
    }
    const basics = { client, clock, random, log: log as unknown as Logger }
    const reflector = new Reflector<T>({ ...basics, ...wanted, store, onRelist })
    const source: Source<T> = { store, reflector, trouble: undefined, isListed: false }
    reflector.onInstalled(() => this.#flushSoon())
    return source
  }

  #note({ put, gone }: Followed, { key, after }: Change<KeptRow>): void {
    if (after === undefined) {
      put.delete(key)
      gone.add(key)
    } else {
      gone.delete(key)
      put.set(key, after.row)
    }
    this.#flushSoon()
  }

  #slotsChanged(): void {
    this.#areSlotsNew = true
    this.#flushSoon()
  }

  #flushSoon(): void {
    this.#cancelFlush ??= this.#options.clock.setTimer(() => this.#flush(), TOGETHER_MS)
  }

  #flush(): void {
    this.#cancelFlush = undefined
    const kinds: Partial<Record<UiKind, KindUpdate>> = {}
    for (const kind of UI_KINDS) {
      const { put, gone } = this.#followed[kind]
      if (put.size + gone.size === 0) continue
      kinds[kind] = { put: [...put.values()], gone: [...gone] }
      put.clear()
      gone.clear()
    }
    const slots = this.#areSlotsNew && this.#listeners.size > 0 ? { slots: this.#slots() } : {}
    this.#areSlotsNew = false
    const update = { isWhole: false, kinds, ...slots, ...this.#reach() }
    this.#cancelLook?.()
    const isTrouble = Object.keys(update.problems).length > 0
    this.#cancelLook = isTrouble ? this.#options.clock.setTimer(() => this.#flush(), PROBLEM_MS) : undefined
    for (const listener of this.#listeners) listener(update)
  }

  #slots(): SlotsUpdate {
    const images = [...this.#followed.images.source.store.values()].flatMap(({ inQueue }) => inQueue ?? [])
    const { ledger, unseen } = this.#ledgerSeen()
    const slots = slotsInUse({ images, ledger, isWhole: true }, this.#options.clock.now())
    return { limit: ledger?.limit, slots, unseen }
  }

  #ledgerSeen(): LedgerSeen {
    const { operatorNamespace } = this.#options
    const problem = this.#problemOf(this.#ledger)
    if (problem !== undefined)
      return { unseen: FORBIDDEN.test(problem) ? unseenLedger(operatorNamespace, 'watch') : problem }
    const [ledger] = this.#ledger.store.values()
    return this.#ledger.isListed ? ledgerIn(ledger) : {}
  }

  #reach(): Pick<Update, 'problems' | 'pending'> {
    const problems: Partial<Record<UiKind, string>> = {}
    const pending: UiKind[] = []
    for (const kind of UI_KINDS) {
      const { source } = this.#followed[kind]
      const problem = this.#problemOf(source)
      if (problem !== undefined) problems[kind] = problem
      else if (!source.isListed) pending.push(kind)
    }
    return { problems, pending }
  }

  #problemOf<T extends Stored>({ reflector, trouble }: Source<T>): string | undefined {
    if (reflector.installed === false)
      return `the API server does not serve ${reflector.type.plural}: the CRDs of Open Terrain are not installed there`
    if (trouble === undefined) return undefined
    // What was heard after it shows that it is over.
    const heardAt = this.#options.clock.monotonic() - reflector.silentMs
    return heardAt > trouble.at ? undefined : trouble.text
  }
}
