import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { viewDataVolume } from '../../../operator/cluster/views.ts'
import { compareTickets } from '../../../operator/controllers/vm-disk-image/admission/admission-queue.ts'
import type { Start } from '../../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Commit, RequestInfo } from '../../../sandbox/memory-cluster/index.ts'
import { imageOwner, isLedger, isOperator, isSameClaim, type Ledger, ledgerIn, type Slot } from '../chronicle.ts'
import type { Disturbances } from '../disturbances.ts'
import type { Invariant } from '../oracle/oracle.ts'
import { type GateProcess, keyOfStart } from './gate-process.ts'

/** A create is sent at most 5 s after its claim was read, and carried out at most 10 s later. */
const CLAIM_REACHES_MS = 15_000
/** Requests that are based on a deleted or corrupted ledger may still arrive within this time. */
const LOST_MS = 20_000
/** What such requests created counts only after watch events have reported it. */
const REBUILT_MS = 60_000

interface Download {
  readonly imageUid: string
  readonly revision: string
}

/** A claim in flight to the ledger or in it: which write made it, and whether a create of its DataVolume was sent. */
interface Claim {
  readonly start: Start
  readonly write: number
  isAsked: boolean
}

export interface GateOracleOptions {
  readonly now: () => number
  readonly disturbances: Disturbances
  readonly report: (invariant: Invariant, message: string) => void
}

/** Judges the gate by the commits, and the order of claims by what the claiming process has observed by then. */
export class GateOracle {
  readonly #options: GateOracleOptions
  /** Unfinished DataVolumes and living importer pods, by uid. */
  readonly #running = new Map<string, Download>()
  readonly #importers = new Map<string, Download>()
  /** By process, then by image. */
  readonly #claims = new Map<string, Map<string, Claim>>()
  #ledger: Ledger | undefined
  #lostAtMs = Number.NEGATIVE_INFINITY
  #limits: { readonly atMs: number; readonly limit: number }[] = []
  #writes = 0
  readonly counts = { admissions: 0, transfers: 0, commits: 0, operatorCommits: 0 }

  constructor(options: GateOracleOptions) {
    this.#options = options
  }

  get ledger(): Ledger | undefined {
    return this.#ledger
  }

  onCommit(commit: Commit): void {
    this.counts.commits += 1
    if (isOperator(commit.actor)) this.counts.operatorCommits += 1
    if (isLedger(commit)) this.#onLedger(commit)
    else if (commit.resource.kind === 'DataVolume') this.#onDataVolume(commit)
    else if (commit.resource.kind === 'Pod') this.#onPod(commit)
  }

  /** Called when a process is about to send a request that it has just decided on. */
  onSend(by: GateProcess, { verb, resource, body }: RequestInfo): void {
    if (verb === 'replace' && resource.kind === 'ConfigMap') this.#checkTurns(by, body as KubeObject)
    if (verb === 'create' && resource.kind === 'DataVolume') this.#checkBatch(by, body as KubeObject)
  }

  // Invariant 3

  /** Checks that the images that get slots have the earliest tickets that this process knows of. */
  #checkTurns(by: GateProcess, object: KubeObject): void {
    const next = ledgerIn(object)
    if (by.admission === undefined || next === undefined) return
    const before = by.admission.state?.holders ?? []
    const last = this.#noteClaims(by, this.#newIn(next, before)).toSorted(compareTickets).at(-1)
    if (last === undefined) return
    const slots = new Set([...before, ...next.holders].map(({ uid }) => uid))
    for (const start of by.wishes()) {
      if (compareTickets(start, last) >= 0 || slots.has(start.uid) || by.isStuck(start.uid)) continue
      this.#options.report(3, `${last.name} (ticket ${last.ticket}) gets a slot before ${start.name} (${start.ticket})`)
    }
  }

  /** Returns the new claims. An image that already downloads is only entered again, into a rebuilt ledger. */
  #newIn({ holders }: Ledger, before: readonly Slot[]): readonly Slot[] {
    const downloading = this.#downloading
    return holders.filter((one) => !downloading.has(one.uid) && !before.some((other) => isSameClaim(one, other)))
  }

  #noteClaims(by: GateProcess, slots: readonly Slot[]): Start[] {
    const { name } = by.process
    const claims = this.#claims.get(name) ?? new Map<string, Claim>()
    this.#claims.set(name, claims)
    this.#writes += 1
    const starts = slots.map(({ uid }) => by.wishOf(uid)).filter((start) => start !== undefined)
    for (const start of starts) claims.set(start.uid, { start, write: this.#writes, isAsked: false })
    return starts
  }

  get #downloading(): Set<string> {
    return new Set([...this.#running.values(), ...this.#importers.values()].map(({ imageUid }) => imageUid))
  }

  /** Checks that creates of DataVolumes for the claims of one write are sent in ticket order. */
  #checkBatch(by: GateProcess, object: KubeObject): void {
    const claims = this.#claims.get(by.process.name)
    const mine = claims?.get(imageOwner(object)?.uid ?? '')
    if (claims === undefined || mine === undefined || mine.start.revision !== object.metadata.labels?.[LABELS.revision])
      return
    mine.isAsked = true
    for (const [uid, { start, write, isAsked }] of claims) {
      if (isAsked || write !== mine.write || compareTickets(start, mine.start) >= 0) continue
      const isStillWanted = by.wishOf(uid) === start && by.admission?.slotOf(uid)?.attempt === start.attempt
      const isThere = by.dataVolumes.get(keyOfStart(start)) !== undefined
      if (!isStillWanted || isThere) continue
      const text = `the DataVolume of ${mine.start.name} (ticket ${mine.start.ticket}) is asked for before the one of`
      this.#options.report(3, `${text} ${start.name} (${start.ticket}), which was claimed with it`)
    }
  }

  // Invariants 1 and 2

  #onLedger({ type, object, actor, revision }: Commit): void {
    const before = this.#ledger
    const after = type === 'DELETED' ? undefined : ledgerIn(object)
    this.#ledger = after
    const { now, report } = this.#options
    if (!isOperator(actor)) this.#lostAtMs = now()
    else if (after === undefined) report(1, `revision ${revision}: the operator wrote a ledger that cannot be read`)
    else this.#checkLedger(before, after, revision)
    if (after === undefined || after.limit === this.#limits.at(-1)?.limit) return
    this.#limits.push({ atMs: now(), limit: after.limit })
    if (this.#limits.length > 50) this.#limits = this.#limits.slice(-25)
  }

  #checkLedger(before: Ledger | undefined, { holders, limit }: Ledger, revision: number): void {
    const { report } = this.#options
    if (new Set(holders.map(({ uid }) => uid)).size < holders.length)
      report(1, `revision ${revision}: an image holds two slots`)
    // No download of a story lasts long enough to say that a rebuilt ledger must have it. `SlotOracle` checks that.
    if (before === undefined) return
    const added = holders.filter((holder) => !before.holders.some((one) => isSameClaim(one, holder)))
    this.counts.admissions += added.length
    if (added.length > 0 && holders.length > limit)
      report(1, `revision ${revision}: ${holders.length} slots are held, the limit is ${limit}`)
    if (this.#isLost(LOST_MS)) return
    for (const holder of before.holders) {
      if (holders.some((one) => isSameClaim(one, holder))) continue
      const still = this.#stillDownloads(holder)
      if (still !== undefined) report(2, `revision ${revision}: the slot of ${holder.name} was freed, but ${still}`)
    }
  }

  #stillDownloads(slot: Slot): string | undefined {
    const isOf = ({ imageUid, revision }: Download) => imageUid === slot.uid && revision === slot.revision
    if ([...this.#running.values()].some(isOf)) return 'its DataVolume is unfinished'
    return [...this.#importers.values()].some(isOf) ? 'its importer pod is alive' : undefined
  }

  #onDataVolume({ type, object, revision }: Commit): void {
    const { uid = '', labels = {} } = object.metadata
    const owner = imageOwner(object)
    if (owner === undefined) return
    if (type === 'DELETED' || !isUnfinished(object)) {
      this.#running.delete(uid)
      return
    }
    this.#running.set(uid, { imageUid: owner.uid, revision: labels[LABELS.revision] ?? '' })
    if (type !== 'ADDED') return
    this.counts.transfers += 1
    this.#checkSlot(object, owner.uid, revision)
    this.#checkCount(object, revision)
  }

  #checkSlot({ metadata }: KubeObject, imageUid: string, revision: number): void {
    const slot = this.#ledger?.holders.find(({ uid }) => uid === imageUid)
    const { labels = {}, annotations = {} } = metadata
    const isItsSlot =
      slot?.revision === labels[LABELS.revision] && String(slot?.attempt) === annotations[ANNOTATIONS.attempt]
    if (isItsSlot || this.#isLost(LOST_MS)) return
    this.#options.report(2, `revision ${revision}: DataVolume ${metadata.name} was created without a slot`)
  }

  #checkCount({ metadata }: KubeObject, revision: number): void {
    const count = this.#downloading.size
    // An image that was admitted under a higher limit keeps its slot and downloads after the limit is lowered.
    const limit = Math.max(this.#highestLimit(), this.#ledger?.holders.length ?? 0)
    if (count <= limit) return
    const { disturbances, report } = this.#options
    const cannotSee = this.#isLost(REBUILT_MS) && disturbances.calmForMs('api', 'watch', 'freeze') < REBUILT_MS
    if (cannotSee) return
    report(1, `revision ${revision}: ${count} images download with ${metadata.name}, the limit is ${limit}`)
  }

  #onPod({ type, object }: Commit): void {
    const { uid = '', labels = {} } = object.metadata
    const { phase } = (object as { readonly status?: { readonly phase?: string } }).status ?? {}
    const isAlive = type !== 'DELETED' && phase !== 'Succeeded' && phase !== 'Failed'
    const { [LABELS.imageUid]: imageUid = '', [LABELS.revision]: revision = '' } = labels
    if (isAlive) this.#importers.set(uid, { imageUid, revision })
    else this.#importers.delete(uid)
  }

  /** Returns the highest limit that a process may still act on. */
  #highestLimit(): number {
    const since = this.#options.now() - CLAIM_REACHES_MS
    let highest = 0
    for (const [at, { limit }] of this.#limits.entries()) {
      const until = this.#limits[at + 1]?.atMs ?? Number.POSITIVE_INFINITY
      if (until >= since) highest = Math.max(highest, limit)
    }
    return highest
  }

  #isLost(withinMs: number): boolean {
    return this.#options.now() - this.#lostAtMs < withinMs
  }
}

function isUnfinished(object: KubeObject): boolean {
  return viewDataVolume(object).phase !== 'Succeeded'
}
