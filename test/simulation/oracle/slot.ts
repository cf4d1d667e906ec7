import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { type Image, reasonOf } from '../../harness/kinds.ts'
import { imageOwner, isLedger, isOperator, isSameClaim, type Ledger, ledgerIn, type Slot } from '../chronicle.ts'
import type { Download } from '../downloads.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

/** Requests that are based on a deleted ledger may still arrive: sent within 5 s, carried out within 10 s. */
const LOST_LEDGER_MS = 20_000

/** A ledger may be written this long after the list that it is built from. */
const LISTED_BEFORE_MS = 15_000

/** From the moment at which an orphan times out until its slot is free. */
const FREED_MS = 60_000

export interface SlotWitness extends Witness {
  readonly stallTimeoutMs: number
}

/** Invariant 2: a slot is held from before the DataVolume exists until nothing can download any more, and no longer. */
export class SlotOracle extends WitnessOracle<SlotWitness> {
  /** Somebody other than the operator wrote the ledger last. */
  #isTampered = false

  onCommit(commit: Commit): void {
    this.#checkOrphans()
    if (!isOperator(commit.actor)) {
      this.#isTampered ||= isLedger(commit)
      return
    }
    if (isLedger(commit)) this.#checkReleases(commit)
    else if (commit.resource.kind === 'DataVolume') this.#checkStart(commit)
    else if (commit.resource.kind === 'VMDiskImage' && commit.type === 'MODIFIED') this.#checkRest(commit)
  }

  onTransfer(download: Download): void {
    const { chronicle, report } = this.witness
    if (download.hasSucceeded || download.isAfterthought || this.#isLedgerLost()) return
    const slot = chronicle.slotOf(download.imageUid)
    if (slot?.revision !== download.revision) report(2, `${download.key} downloads without a slot`)
  }

  #checkStart({ type, object, revision }: Commit): void {
    const owner = imageOwner(object)
    if (type !== 'ADDED' || owner === undefined || this.#isLedgerLost()) return
    const { chronicle, report } = this.witness
    const download = chronicle.downloads.get(object.metadata.uid ?? '')
    if (download?.isAfterthought) return
    const slot = chronicle.slotOf(owner.uid)
    const isItsSlot = slot?.revision === download?.revision && slot?.attempt === download?.attempt
    if (!isItsSlot) report(2, `revision ${revision}: DataVolume ${object.metadata.name} was created without a slot`)
  }

  #checkReleases({ type, object, revision }: Commit): void {
    const { chronicle, report } = this.witness
    const before = chronicle.ledgerBefore
    const after = type === 'DELETED' ? undefined : ledgerIn(object)
    if ((before === undefined || this.#isTampered) && after !== undefined) this.#checkRebuilt(after, revision)
    this.#isTampered = false
    if (before === undefined || after === undefined || this.#isLedgerLost()) return
    for (const holder of before.holders) {
      if (after.holders.some((one) => isSameClaim(one, holder))) continue
      const still = this.#stillDownloads(holder)
      if (still !== undefined) report(2, `revision ${revision}: the slot of ${holder.name} was freed, but ${still}`)
    }
  }

  /** A lost ledger is rebuilt from a live list, which contained what had downloaded for a while. */
  #checkRebuilt({ holders }: Ledger, revision: number): void {
    const { chronicle, report } = this.witness
    for (const { key, imageUid, createdAtMs, isAfterthought } of chronicle.running.values()) {
      const isListed = chronicle.nowMs - createdAtMs > LISTED_BEFORE_MS && !isAfterthought
      if (isListed && !holders.some(({ uid }) => uid === imageUid))
        report(2, `revision ${revision}: the ledger was made again without ${key}, which downloads`)
    }
  }

  /** Only people stop an orphan. It keeps its slot as long as a download may make no progress, and no longer. */
  #checkOrphans(): void {
    const { chronicle, disturbances, report } = this.witness
    for (const download of chronicle.running.values()) {
      if (!this.#isTimedOut(download, FREED_MS)) continue
      const isExcused =
        disturbances.calmForMs('api', 'watch', 'freeze', 'crash') < this.witness.stallTimeoutMs + FREED_MS
      const slot = chronicle.slotOf(download.imageUid)
      if (slot?.revision !== download.revision || isExcused || this.#isLedgerLost()) continue
      report(2, `${download.key} has lost its owner and stands still, and keeps its slot`)
    }
  }

  /** @param moreMs on top of the time that it has */
  #isTimedOut({ orphanedAtMs, movedAtMs }: Download, moreMs = 0): boolean {
    if (orphanedAtMs === undefined) return false
    const { chronicle, stallTimeoutMs } = this.witness
    return chronicle.nowMs - Math.max(orphanedAtMs, movedAtMs) >= stallTimeoutMs + moreMs
  }

  #stillDownloads({ uid, revision }: Slot): string | undefined {
    const { chronicle } = this.witness
    const download = chronicle.downloadOf(uid, revision)
    if (download?.hasSucceeded || (download !== undefined && this.#isTimedOut(download))) return undefined
    if (download !== undefined && chronicle.running.has(download.uid)) return `DataVolume ${download.key} is unfinished`
    for (const importer of chronicle.importers.values()) {
      if (importer.imageUid === uid && importer.revision === revision) return 'its importer pod is alive'
    }
    return undefined
  }

  /** An image that backs off, or is being snapshotted, needs no slot. */
  #checkRest({ object, revision, actor }: Commit): void {
    const image = object as Image
    const { phase } = image.status ?? {}
    const isAtRest = phase === 'Snapshotting' || reasonOf(image) === 'RetryBackoff'
    if (!isAtRest || this.#isLedgerLost()) return
    const slot = this.witness.chronicle.slotOf(object.metadata.uid ?? '')
    // Another process, which leads by now, may have admitted it again.
    if (slot === undefined || slot.claimant !== actor) return
    this.witness.report(2, `revision ${revision}: image ${object.metadata.name} holds a slot in phase ${phase}`)
  }

  #isLedgerLost(): boolean {
    const { chronicle } = this.witness
    return chronicle.ledger === undefined || chronicle.nowMs - chronicle.ledgerLostAtMs < LOST_LEDGER_MS
  }
}
