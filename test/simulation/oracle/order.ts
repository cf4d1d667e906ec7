import { LABELS } from '@open-terrain/constructs'
import { FINALIZERS } from '@open-terrain/constructs/operator'
import { compareResourceVersions } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { type Image, reasonOf } from '../../harness/kinds.ts'
import { imageOwner, isLedger, isOperator, isSameClaim, ledgerIn, type Slot } from '../chronicle.ts'
import type { Kind } from '../kind.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

interface Waiting {
  readonly uid: string
  readonly name: string
  readonly ticket: string
  /** Revision and time since which it could have been claimed. */
  readonly since: number
  readonly sinceMs: number
}

/** After trouble with requests or watches, every image is looked at again within a minute or so. */
const RECOVERED_MS = 120_000
/** A commit this old has been reported by the watch of every replica. */
const SEEN_MS = 1_000

export interface OrderWitness extends Witness {
  readonly kinds: () => readonly Kind[]
}

/**
 * Invariant 3: no image gets a slot while one with an earlier ticket waits for one, the DataVolumes of a batch are created in ticket order, and no
 * ticket is kept for another revision. API errors are an excuse: pairs are compared only when the operator could know of both.
 */
export class OrderOracle extends WitnessOracle<OrderWitness> {
  readonly #waiting = new Map<string, Waiting>()
  /** Tickets that were used for a claim: each is valid for one, but the status shows that only later. */
  readonly #used = new Set<string>()
  /** The revision that an image took its ticket for. */
  readonly #takenFor = new Map<string, { readonly ticket: string; readonly revision: string }>()
  /** Revisions of the last ledger writes: a decision is made a moment before it is written. */
  #writes: readonly number[] = []
  /** Claims of the last writes whose DataVolume does not exist yet, with the tickets that they were made with. */
  readonly #pending = new Map<string, { readonly slot: Slot; readonly ticket: string; readonly write: number }>()

  onCommit(commit: Commit): void {
    if (commit.resource.kind === 'VMDiskImage') this.#followImage(commit)
    else if (isLedger(commit)) this.#followLedger(commit)
    else if (commit.resource.kind === 'DataVolume' && commit.type === 'ADDED' && isOperator(commit.actor))
      this.#checkBatch(commit)
  }

  #followImage({ type, object, revision }: Commit): void {
    const image = object as Image
    const { uid = '', name } = image.metadata
    this.#checkTicket(image, revision)
    if (!isAdmissible(type, image) || this.#used.has(`${uid}/${image.status?.ticket}`)) {
      this.#waiting.delete(uid)
      // It was changed, suspended or deleted: its claim may never get a DataVolume.
      if (image.status?.observedGeneration !== image.metadata.generation || isGoing(type, image))
        this.#pending.delete(uid)
      return
    }
    const ticket = image.status?.ticket ?? ''
    const before = this.#waiting.get(uid)
    if (before?.ticket === ticket) return
    this.#waiting.set(uid, { uid, name, ticket, since: revision, sinceMs: this.witness.chronicle.nowMs })
  }

  #checkTicket({ metadata: { uid = '', name }, status }: Image, at: number): void {
    const { ticket, revision } = status ?? {}
    if (ticket === undefined || revision === undefined) return
    const before = this.#takenFor.get(uid)
    this.#takenFor.set(uid, { ticket, revision })
    if (before?.ticket === ticket && before.revision !== revision)
      this.witness.report(3, `revision ${at}: image ${name} keeps ticket ${ticket}, which it took for another download`)
  }

  #followLedger({ type, object, revision, actor }: Commit): void {
    const after = type === 'DELETED' ? undefined : ledgerIn(object)
    const before = this.witness.chronicle.ledgerBefore
    for (const uid of this.#pending.keys())
      if (!after?.holders.some((one) => one.uid === uid)) this.#pending.delete(uid)
    const claimed = (after?.holders ?? []).filter((one) => !before?.holders.some((other) => isSameClaim(one, other)))
    const turns = claimed.flatMap((slot) => this.#takeTurn(slot, revision))
    if (isOperator(actor) && before !== undefined) for (const turn of turns) this.#checkTurn(turn, revision)
    this.#writes = [...this.#writes, revision].slice(-2)
  }

  #takeTurn(slot: Slot, write: number): Waiting[] {
    const turn = this.#waiting.get(slot.uid)
    if (turn === undefined) return []
    this.#used.add(`${slot.uid}/${turn.ticket}`)
    this.#waiting.delete(slot.uid)
    this.#pending.set(slot.uid, { slot, ticket: turn.ticket, write })
    return [turn]
  }

  #checkTurn(mine: Waiting, revision: number): void {
    const known = this.#writes.at(-2)
    if (known === undefined || !this.#canKnow()) return
    const { chronicle, report } = this.witness
    for (const other of this.#waiting.values()) {
      const isEarlier = compareResourceVersions(other.ticket, mine.ticket) < 0
      const isSeen = other.since < known && chronicle.nowMs - other.sinceMs > SEEN_MS
      if (isEarlier && isSeen && this.#isWanted(other.uid)) {
        const [a, b] = [`${mine.name} (ticket ${mine.ticket})`, `${other.name} (ticket ${other.ticket})`]
        report(3, `revision ${revision}: image ${a} got a slot before ${b}, which has waited`)
        return
      }
    }
  }

  #checkBatch({ object, revision }: Commit): void {
    const mine = this.#pending.get(imageOwner(object)?.uid ?? '')
    if (mine === undefined) return
    this.#pending.delete(mine.slot.uid)
    if (!this.#canKnow()) return
    for (const { slot, ticket, write } of this.#pending.values()) {
      if (write === mine.write && compareResourceVersions(ticket, mine.ticket) < 0) {
        const message = `DataVolume ${object.metadata.name} (ticket ${mine.ticket}) came before the one of ${slot.name} (ticket ${ticket}) of the same batch`
        this.witness.report(3, `revision ${revision}: ${message}`)
        return
      }
    }
  }

  /** An image that the operator created is not downloaded while nothing refers to it. Its status may not show that yet. */
  #isWanted(uid: string): boolean {
    const image = this.witness.chronicle.images.get(uid)
    if (image?.metadata.labels?.[LABELS.createdBy] === undefined) return true
    return this.witness.kinds().some((kind) => (kind.referencesTo?.(image) ?? []).length > 0)
  }

  /** Reports whether nothing is an excuse: no API error, watch fault, freeze or lost ledger has hidden anything from the operator. */
  #canKnow(): boolean {
    const { chronicle, disturbances } = this.witness
    const isLedgerOld = chronicle.nowMs - chronicle.ledgerLostAtMs > RECOVERED_MS
    return isLedgerOld && disturbances.calmForMs('api', 'watch', 'freeze') > RECOVERED_MS
  }
}

function isGoing(type: Commit['type'], { metadata }: Image): boolean {
  return type === 'DELETED' || metadata.deletionTimestamp !== undefined
}

function isAdmissible(type: Commit['type'], image: Image): boolean {
  const { metadata, status } = image
  const reason = reasonOf(image)
  return (
    !isGoing(type, image) &&
    status?.phase === 'Queued' &&
    (reason === 'Queued' || reason === 'Paused') &&
    status.ticket !== undefined &&
    status.observedGeneration === metadata.generation &&
    metadata.finalizers?.includes(FINALIZERS.vmDiskImage) === true
  )
}
