import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { imageOwner, isLedger, isOperator, isSameClaim, ledgerIn } from '../chronicle.ts'
import type { Download } from '../downloads.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

/**
 * The operator checks a claim against a ledger that was read at most 5 s before the create is sent, and the create is carried out at most 10 s later.
 * A limit that was lowered meanwhile may be used for this long.
 */
const CLAIM_REACHES_MS = 15_000
/** A lost ledger is rebuilt at once, but nobody is admitted for 15 s, and watch events must have arrived. */
const REBUILT_MS = 60_000

/** Invariant 1: there are never more claims than the limit in the same object, and never more downloads than that. */
export class LimitOracle extends WitnessOracle<Witness> {
  onCommit(commit: Commit): void {
    if (!isOperator(commit.actor) || commit.type === 'DELETED') return
    if (isLedger(commit)) this.#checkClaims(commit)
    else if (commit.resource.kind === 'DataVolume' && commit.type === 'ADDED' && imageOwner(commit.object))
      this.#checkDownloads(commit)
  }

  #checkClaims({ object, revision }: Commit): void {
    const { chronicle, report } = this.witness
    const after = ledgerIn(object)
    if (after === undefined) {
      report(1, `revision ${revision}: the operator wrote a ledger that cannot be read`)
      return
    }
    const uids = new Set(after.holders.map(({ uid }) => uid))
    if (uids.size < after.holders.length) report(1, `revision ${revision}: an image holds two slots`)
    const before = chronicle.ledgerBefore
    if (before === undefined) return
    const added = after.holders.filter((holder) => !before.holders.some((one) => isSameClaim(one, holder)))
    if (added.length > 0 && after.holders.length > after.limit) {
      const who = added.map(({ name }) => name).join(', ')
      report(
        1,
        `revision ${revision}: ${after.holders.length} slots are held, the limit is ${after.limit}; new: ${who}`,
      )
    }
  }

  #checkDownloads({ object, revision }: Commit): void {
    const { chronicle, report, disturbances } = this.witness
    const admitted = [...chronicle.running.values()].filter((one) => !one.isAfterthought && !this.#isGivenUp(one))
    const images = new Set(admitted.map(({ imageUid }) => imageUid))
    for (const { imageUid, revision: of } of chronicle.importers.values()) {
      // CDI repeats a finished download because somebody deleted its claim: nobody admitted that.
      const download = chronicle.downloadOf(imageUid, of)
      const isGivenUp = download !== undefined && (download.hasSucceeded || this.#isGivenUp(download))
      if (!isGivenUp) images.add(imageUid)
    }
    const limit = chronicle.highestLimit(CLAIM_REACHES_MS)
    if (images.size <= limit) return
    const isRebuilding = chronicle.nowMs - chronicle.ledgerLostAtMs < REBUILT_MS
    const cannotSee = isRebuilding && disturbances.calmForMs('api', 'watch', 'freeze') < REBUILT_MS
    if (cannotSee) return
    report(
      1,
      `revision ${revision}: ${images.size} images download with ${object.metadata.name}, the limit is ${limit}`,
    )
  }

  /** An orphan without a slot counts as timed out. `SlotOracle` checks whether it was. */
  #isGivenUp({ orphanedAtMs, imageUid }: Download): boolean {
    return orphanedAtMs !== undefined && this.witness.chronicle.slotOf(imageUid) === undefined
  }
}
