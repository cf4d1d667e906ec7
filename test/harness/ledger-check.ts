import { LABELS } from '@open-terrain/constructs'
import { FINALIZERS } from '@open-terrain/constructs/operator'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import type { SeenEvent } from './etcd-history.ts'
import { type ConfigMap, type DataVolume, IMAGE, type Image, isFinished, reasonOf } from './kinds.ts'

interface Slot {
  readonly uid: string
  readonly name: string
  readonly revision: string
  readonly attempt: number
}

interface Ledger {
  readonly limit: number
  readonly holders: readonly Slot[]
}

/**
 * All events, of all kinds, in the order of the writes. What one transaction of etcd wrote has one version, and is seen kind by kind in any
 * order: then the ledger comes first, since what it says is in force from that version on.
 */
function inOrder(history: readonly SeenEvent[]): SeenEvent[] {
  return history.toSorted(
    (a, b) => compareResourceVersions(versionOf(a), versionOf(b)) || Number(isLedger(b)) - Number(isLedger(a)),
  )
}

function isLedger({ kind, object }: SeenEvent): boolean {
  return kind === 'ConfigMap' && object.metadata.name === LEDGER_NAME
}

function versionOf({ object }: SeenEvent): string {
  return object.metadata.resourceVersion ?? '0'
}

function ledgerIn(event: SeenEvent, namespace: string): Ledger | undefined {
  if (!isLedger(event) || event.object.metadata.namespace !== namespace || event.type === 'DELETED') return undefined
  const { data = {} } = event.object as ConfigMap
  return { limit: Number(data['limit']), holders: JSON.parse(data['holders'] ?? '[]') }
}

function claimsAdded(before: Ledger | undefined, after: Ledger): readonly Slot[] {
  const isSame = (a: Slot, b: Slot) => a.uid === b.uid && a.revision === b.revision && a.attempt === b.attempt
  return after.holders.filter((slot) => !before?.holders.some((other) => isSame(slot, other)))
}

function imageOwner({ object }: SeenEvent) {
  // The older operator has a kind of that name too.
  return object.metadata.ownerReferences?.find(
    ({ apiVersion, kind }) => kind === IMAGE.kind && apiVersion.startsWith(`${IMAGE.group}/`),
  )
}

/**
 * Replays the history, which has to begin before the first ledger, revision by revision. No claim may exceed the limit in the
 * same object, and no DataVolume may be created without a claim of its image and revision.
 */
export function checkLedger(history: readonly SeenEvent[], namespace: string): void {
  let ledger: Ledger | undefined
  const downloads = new Map<string, DataVolume>()
  for (const event of inOrder(history)) {
    const next = ledgerIn(event, namespace)
    if (next !== undefined) {
      checkClaims(ledger, next, versionOf(event))
      ledger = next
    }
    if (event.kind === 'DataVolume') followDownload(event, downloads, ledger)
  }
}

function checkClaims(before: Ledger | undefined, after: Ledger, version: string): void {
  if (claimsAdded(before, after).length > 0 && after.holders.length > after.limit) {
    throw new Error(`revision ${version}: ${after.holders.length} slots are held, the limit is ${after.limit}`)
  }
}

function followDownload(event: SeenEvent, downloads: Map<string, DataVolume>, ledger: Ledger | undefined): void {
  const dataVolume = event.object as DataVolume
  const { uid = '', name, labels = {} } = dataVolume.metadata
  const owner = imageOwner(event)
  // The garbage collector may remove the owner of a running download. The download continues.
  if (owner === undefined && !downloads.has(uid)) return
  if (event.type === 'DELETED' || isFinished(dataVolume)) {
    downloads.delete(uid)
    return
  }
  const isNew = event.type === 'ADDED'
  downloads.set(uid, dataVolume)
  if (owner === undefined || !isNew) return
  const { holders = [] } = ledger ?? {}
  const hasSlot = holders.some((holder) => holder.uid === owner.uid && holder.revision === labels[LABELS.revision])
  if (!hasSlot) throw new Error(`DataVolume ${name} was created without a slot at revision ${versionOf(event)}`)
  if (downloads.size > holders.length) {
    throw new Error(
      `${downloads.size} DataVolumes are unfinished at revision ${versionOf(event)}, ${holders.length} slots are held`,
    )
  }
}

export interface OrderOptions {
  /**
   * Whether to check the order of the DataVolumes of one batch. False where API errors are injected: a DataVolume that the
   * API server refuses does not block the next one, and is created after it. Default: true.
   */
  readonly areBatchesChecked?: boolean
  /** Whether the operator has said that it passes the image with this ticket, which could not start. Default: never. */
  readonly isPassed?: (ticket: string) => boolean
}

/**
 * First come, first served: no image gets a slot while an image with an earlier ticket waits, and the DataVolumes of one
 * batch (the claims of one ledger write) are created in the order of their tickets. Throws at the first inversion.
 */
export function checkOrder(
  history: readonly SeenEvent[],
  namespace: string,
  { areBatchesChecked = true, isPassed }: OrderOptions = {},
): void {
  const turns = new Turns(isPassed)
  for (const event of inOrder(history)) {
    if (event.kind === 'VMDiskImage') turns.followImage(event)
    else if (event.kind === 'DataVolume' && event.type === 'ADDED' && areBatchesChecked) turns.checkBatch(event)
    const ledger = ledgerIn(event, namespace)
    if (ledger !== undefined) turns.followLedger(ledger, versionOf(event))
  }
}

interface Waiting {
  readonly name: string
  readonly ticket: string
  /** The revision since which it is admissible. */
  readonly since: string
}

interface Claimed {
  readonly name: string
  readonly ticket: string
  /** Revision of the ledger write. */
  readonly write: string
}

/** Tracks the images that wait for a slot, and those that have one but no DataVolume yet. */
class Turns {
  readonly #waiting = new Map<string, Waiting>()
  /** Used tickets. A ticket is valid for one claim; the status shows that only later. */
  readonly #used = new Set<string>()
  /** Claims without a DataVolume so far, by uid of the image. */
  readonly #claimed = new Map<string, Claimed>()
  /** By ledger write: the claim with the latest ticket among those whose DataVolume was created. */
  readonly #latest = new Map<string, Claimed>()
  /** Revisions of the last two ledger writes. */
  #writes: readonly string[] = []
  #ledger: Ledger | undefined
  readonly #isPassed: (ticket: string) => boolean

  constructor(isPassed: (ticket: string) => boolean = () => false) {
    this.#isPassed = isPassed
  }

  followImage(event: SeenEvent): void {
    const image = event.object as Image
    const { uid = '', name, generation } = image.metadata
    const { ticket, observedGeneration } = image.status ?? {}
    // The image was changed, suspended or deleted: its claim may never get a DataVolume.
    if (isGoing(event) || observedGeneration !== generation) this.#claimed.delete(uid)
    if (ticket === undefined || !isAdmissible(event) || this.#used.has(`${uid}/${ticket}`)) {
      this.#waiting.delete(uid)
      return
    }
    if (this.#waiting.get(uid)?.ticket !== ticket) this.#waiting.set(uid, { name, ticket, since: versionOf(event) })
  }

  followLedger(ledger: Ledger, version: string): void {
    for (const uid of this.#claimed.keys())
      if (!ledger.holders.some((holder) => holder.uid === uid)) this.#claimed.delete(uid)
    const turns = claimsAdded(this.#ledger, ledger).flatMap(({ uid }) => this.#takeTurn(uid, version))
    for (const turn of turns) this.#checkTurn(turn)
    this.#writes = [...this.#writes, version].slice(-2)
    this.#ledger = ledger
  }

  /** Compares only DataVolumes that were created: one that is refused permanently is not an inversion. */
  checkBatch(event: SeenEvent): void {
    const uid = imageOwner(event)?.uid ?? ''
    const mine = this.#claimed.get(uid)
    if (mine === undefined) return
    this.#claimed.delete(uid)
    const last = this.#latest.get(mine.write)
    if (last !== undefined && compareResourceVersions(mine.ticket, last.ticket) < 0) {
      const [a, b] = [`${mine.name} (ticket ${mine.ticket})`, `${last.name} (ticket ${last.ticket})`]
      throw new Error(`revision ${versionOf(event)}: the DataVolume of ${a} came after that of ${b} of the same batch`)
    }
    this.#latest.set(mine.write, mine)
  }

  #takeTurn(uid: string, write: string): Waiting[] {
    const turn = this.#waiting.get(uid)
    if (turn === undefined) return []
    this.#used.add(`${uid}/${turn.ticket}`)
    this.#waiting.delete(uid)
    this.#claimed.set(uid, { name: turn.name, ticket: turn.ticket, write })
    return [turn]
  }

  /**
   * An image counts as waiting only if it had been ready to start before the last but one of the ledger writes that preceded
   * the one that passed it by: the operator decides a moment before it writes.
   */
  #checkTurn(mine: Waiting): void {
    const known = this.#writes.at(-2)
    if (known === undefined) return
    for (const { name, ticket, since } of this.#waiting.values()) {
      if (this.#isPassed(ticket)) continue
      if (compareResourceVersions(ticket, mine.ticket) < 0 && compareResourceVersions(since, known) < 0) {
        throw new Error(`image ${mine.name} (ticket ${mine.ticket}) got a slot before ${name} (ticket ${ticket})`)
      }
    }
  }
}

function isGoing({ type, object }: SeenEvent): boolean {
  return type === 'DELETED' || object.metadata.deletionTimestamp !== undefined
}

function isAdmissible(event: SeenEvent): boolean {
  const image = event.object as Image
  const { metadata, status } = image
  const reason = reasonOf(image)
  return (
    !isGoing(event) &&
    status?.phase === 'Queued' &&
    (reason === 'Queued' || reason === 'Paused') &&
    status.observedGeneration === metadata.generation &&
    metadata.finalizers?.includes(FINALIZERS.vmDiskImage) === true
  )
}
