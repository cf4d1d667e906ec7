import { ANNOTATIONS } from '@open-terrain/constructs'
import type { Attempt } from '@open-terrain/constructs/operator'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { DataVolume, Image } from '../../harness/kinds.ts'
import { imageOwner, isDeletion, isEnd, isOperator, isPerson } from '../chronicle.ts'
import type { Download } from '../downloads.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

/** Transfers of an image since a person last changed something about it, by revision. */
type Budget = Map<string, number>

/** CDI restarts a failing importer after 10 s. An operator that observes the failure in time has stopped it by then. */
const SEEN_IN_TIME_MS = 60_000
/** From the status that records a failure to the end of its importer. */
const TORN_DOWN_MS = 1_000
/** From the start or failure of an importer until the operator has observed it. It looks twice a second at an image that changes all the time. */
const NOTICED_MS = 1_000
const TIMED_OUT: ReadonlySet<string> = new Set(['Stalled', 'AttemptTimeout'])

export interface CostWitness extends Witness {
  /** The highest `retryLimit` that any policy of this run had. */
  readonly retryLimit: () => number
  readonly stallTimeoutMs: number
}

/**
 * Invariant 4: at most 1 + retryLimit downloads for a revision after an act of a person. A failure is in the status before its DataVolume is torn
 * down. Only what really failed is recorded as a failure.
 */
export class CostOracle extends WitnessOracle<CostWitness> {
  readonly #budgets = new Map<string, Budget>()
  /** When a status recorded the end of a DataVolume, by uid. */
  readonly #recorded = new Map<string, number>()
  /** Attempts that are over, by image, revision and number. */
  readonly #over = new Set<string>()
  readonly #wanted = new Map<string, string>()
  /** DataVolumes that a person has deleted, by uid. An importer that still starts belongs to the previous budget. */
  readonly #givenUp = new Set<string>()

  /** Renews the budgets of all images, after an act that cannot be directed at a single image. */
  renewAll(): void {
    this.#budgets.clear()
  }

  onCommit(commit: Commit): void {
    const { resource, actor, object } = commit
    if (resource.kind === 'VMDiskImage') this.#followImage(commit)
    else if (resource.kind === 'DataVolume' && imageOwner(object) !== undefined) this.#followDownload(commit)
    else if (isPerson(actor) && isEnd(commit)) this.#followLoss(commit)
  }

  onTransfer(download: Download): void {
    const { chronicle, disturbances, report } = this.witness
    download.transfers += 1
    // Somebody deleted its pod or its claim. The operator can only stop what starts over then.
    const isHarmed = download.trouble?.startsWith('its ') === true
    const isRestart = download.transfers > 1 && !download.hasSucceeded && !isHarmed
    const calmMs = disturbances.calmForMs('api', 'watch', 'freeze')
    // CDI replaces some importers at once, while the teardown is in flight.
    const recordedAtMs = this.#recorded.get(download.uid) ?? Number.NEGATIVE_INFINITY
    if (isRestart && chronicle.nowMs - recordedAtMs < TORN_DOWN_MS) return
    // While the operator cannot observe or stop it, CDI restarts a failing importer forever.
    if (isRestart && calmMs < SEEN_IN_TIME_MS) return
    const { key, transfers, failedAtMs = Number.NEGATIVE_INFINITY } = download
    const isNoticed = chronicle.nowMs - failedAtMs > NOTICED_MS
    if (isRestart && isNoticed && disturbances.calmForMs('crash', 'cdi') > SEEN_IN_TIME_MS) {
      report(4, `${key} began to download for the ${transfers}. time; the first failure should have ended it`)
      return
    }
    if (this.#isRepeated(download) || this.#givenUp.has(download.uid)) return
    const { imageUid, revision } = download
    const budget = this.#budgetOf(imageUid)
    budget.set(revision, (budget.get(revision) ?? 0) + 1)
  }

  #followImage({ type, object, actor, revision }: Commit): void {
    const { uid = '' } = object.metadata
    if (type === 'DELETED') {
      this.#budgets.delete(uid)
      this.#wanted.delete(uid)
      return
    }
    this.#followWish(object as Image)
    if (!isOperator(actor)) return
    const attempts = (object as Image).status?.attempts ?? []
    for (const attempt of attempts) this.#checkAttempt(object as Image, attempt, revision)
  }

  /**
   * A new spec, a new annotation: whatever a person changes may grant a new budget. Also through the operator, which writes what a DataSync or a
   * template of a person asks for; other oracles check that somebody asked for it.
   */
  #followWish({ metadata, spec }: Image): void {
    const { [ANNOTATIONS.retryRequestedAt]: retry, [ANNOTATIONS.syncRequestedAt]: sync } = metadata.annotations ?? {}
    const wanted = JSON.stringify([spec, retry, sync])
    const { uid = '' } = metadata
    if (this.#wanted.get(uid) === wanted) return
    this.#wanted.set(uid, wanted)
    this.#budgets.delete(uid)
  }

  #checkAttempt(image: Image, attempt: Attempt, revision: number): void {
    const { dataVolumeUID: uid, outcome, reason } = attempt
    if (uid === undefined || this.#recorded.has(uid)) return
    this.#recorded.set(uid, this.witness.chronicle.nowMs)
    const { chronicle, report, stallTimeoutMs } = this.witness
    const download = chronicle.downloads.get(uid)
    const name = image.metadata.name
    // An attempt that cost nothing is retried under the same number.
    if (attempt.downloads === 0) {
      this.#checkFree(attempt, download, `revision ${revision}: image ${name}`)
      return
    }
    this.#over.add(`${image.metadata.uid}/${attempt.revision}/${attempt.number}`)
    if (outcome !== 'Failed') return
    if (download === undefined) {
      report(4, `revision ${revision}: image ${name} failed by an unknown DataVolume`)
      return
    }
    this.#checkPaid(attempt, download, `revision ${revision}: image ${name}`)
    if (TIMED_OUT.has(reason)) {
      const ageMs = chronicle.nowMs - download.createdAtMs
      if (ageMs < stallTimeoutMs) report(4, `revision ${revision}: image ${name} ${reason} after only ${ageMs} ms`)
      return
    }
    if (download.trouble !== undefined) return
    report(4, `revision ${revision}: image ${name} failed (${reason}: ${attempt.message}), but its import did not`)
  }

  /** Nothing is paid for that did not run. What nobody could see counts as one. `#checkBudget` finds what ran and was not paid for. */
  #checkPaid({ downloads: paid = 1, reason }: Attempt, { starts, key }: Download, who: string): void {
    const { disturbances, report } = this.witness
    let ran = 0
    for (const ofPod of starts.values()) ran += ofPod
    const isSeen = disturbances.calmForMs('api', 'watch', 'freeze', 'crash') > SEEN_IN_TIME_MS
    if (paid <= (isSeen ? ran : Math.max(1, ran))) return
    report(4, `${who} paid ${paid} downloads for ${key} (${reason}), whose importers ran ${ran} times`)
  }

  /** An attempt that costs nothing is one in which no importer ran, so no importer can be to blame for it. */
  #checkFree({ reason, message }: Attempt, download: Download | undefined, who: string): void {
    const { chronicle, disturbances, report } = this.witness
    if (download === undefined) return
    if (reason === 'ImporterFailed') report(4, `${who} paid nothing, and blames an importer: ${message}`)
    const { key, starts, createdAtMs, startedAtMs = chronicle.nowMs } = download
    const isWatched = disturbances.calmForMs('api', 'watch', 'freeze', 'crash') > chronicle.nowMs - createdAtMs
    if (isWatched && chronicle.nowMs - startedAtMs > NOTICED_MS)
      report(4, `${who} paid nothing for ${key} (${reason}), whose ${starts.size} importers ran`)
  }

  #followDownload(commit: Commit): void {
    const { type, object, actor, revision } = commit
    const uid = object.metadata.uid ?? ''
    const download = this.witness.chronicle.downloads.get(uid)
    if (download === undefined) return
    if (!isOperator(actor)) {
      // A person who deletes a download, finished or not, wants another one.
      if (isPerson(actor) && isEnd(commit)) {
        this.#budgets.delete(download.imageUid)
        this.#givenUp.add(uid)
      }
      return
    }
    if (type === 'ADDED') this.#checkBudget(download, revision)
    else if (isEnd(commit)) this.#checkTeardown(object as DataVolume, download, revision)
  }

  #checkBudget(download: Download, revision: number): void {
    const { report, retryLimit } = this.witness
    const { imageUid, revision: of, key } = download
    // Its create got no response, and was carried out after the attempt was over.
    if (this.#isRepeated(download)) return
    const transfers = this.#budgetOf(imageUid).get(of) ?? 0
    if (transfers > retryLimit())
      report(4, `revision ${revision}: ${key} after ${transfers} downloads, with a retryLimit of ${retryLimit()}`)
  }

  #isRepeated({ imageUid, revision, attempt }: Download): boolean {
    return this.#over.has(`${imageUid}/${revision}/${attempt}`)
  }

  #checkTeardown(dataVolume: DataVolume, download: Download, revision: number): void {
    const { imageUid, hasSucceeded, key, uid } = download
    const image = this.witness.chronicle.images.get(imageUid)
    const isExpected = hasSucceeded || image === undefined || isDeletion(image)
    if (isExpected || this.#recorded.has(uid) || this.#isRepeated(download)) return
    const { phase } = dataVolume.status ?? {}
    this.witness.report(4, `revision ${revision}: ${key} (${phase}) was torn down before the status told of its end`)
  }

  /** A claim or pod was deleted: whichever download it belonged to, all downloads of the image may start again. */
  #followLoss({ object }: Commit): void {
    const imageUid = object.metadata.labels?.['pelotech.ot/image-uid']
    if (imageUid !== undefined) this.#budgets.delete(imageUid)
  }

  #budgetOf(imageUid: string): Budget {
    let budget = this.#budgets.get(imageUid)
    if (budget === undefined) {
      budget = new Map()
      this.#budgets.set(imageUid, budget)
    }
    return budget
  }
}
