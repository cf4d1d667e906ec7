import type { DataVolumeView } from '../../../operator/cluster/views.ts'
import type { HeldSlotsOptions } from '../../../operator/controllers/vm-disk-image/admission/admission-options.ts'
import type { AdmissionQueue } from '../../../operator/controllers/vm-disk-image/admission/admission-queue.ts'
import type { Download } from '../../../operator/controllers/vm-disk-image/admission/decide/download.ts'
import type { Start } from '../../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import type { Holder } from '../../../operator/controllers/vm-disk-image/world.ts'
import type { Mutant } from '../mutant.ts'
import { seam } from '../seam.ts'
import { ADMISSION, SHARED } from './product-modules.ts'

const oneSlotMore = seam(
  ADMISSION.slots,
  'slotsLeft',
  (slotsLeft) => (facts) => slotsLeft({ ...facts, unheld: facts.unheld - 1 }),
)

const forgetful = seam(ADMISSION.requests, 'canArrive', () => () => false)

interface Queue {
  readonly values: readonly Start[]
  readonly heads: (...asked: Parameters<AdmissionQueue['heads']>) => readonly Start[]
}

/** Chooses the next images in another way. */
const nextBy = (choose: (queue: Queue, ...asked: Parameters<AdmissionQueue['heads']>) => readonly Start[]) =>
  seam(
    ADMISSION.queue,
    'AdmissionQueue',
    (AdmissionQueue) =>
      class extends AdmissionQueue {
        override heads(...asked: Parameters<AdmissionQueue['heads']>) {
          const heads: Queue['heads'] = (...others) => super.heads(...others).heads
          return { ...super.heads(...asked), heads: choose({ values: this.values(), heads }, ...asked) }
        }
      },
  )

/** Downloads without an owner time out at another moment. */
const timedOut = (isTimedOut: (download: Download) => boolean) =>
  seam(ADMISSION.download, 'isTimedOut', () => isTimedOut)

/** Deliberate defects in the limit, the ledger and the order of the queue. */
export const ADMISSION_MUTANTS: readonly Mutant[] = [
  { name: 'one slot more than the limit', invariant: 1, seam: oneSlotMore, kind: 'undisturbed' },
  {
    name: 'a lowered limit counts only for new leaders',
    invariant: 1,
    alsoCaughtAs: [7, 8],
    seam: seam(ADMISSION.slots, 'decideSlots', (decideSlots) => (facts, ...rest) => {
      const decision = decideSlots(facts, ...rest)
      const limit = Math.max(facts.limit, facts.ledger.limit)
      return { ...decision, next: { ...decision.next, limit } }
    }),
    kind: 'undisturbed',
  },
  {
    name: 'the ledger is replaced whatever its version',
    invariant: 1,
    alsoCaughtAs: [2, 7],
    seam: seam(
      ADMISSION.ledgerContent,
      'renderLedger',
      (renderLedger) =>
        ({ resourceVersion: _version, ...metadata }, state) =>
          renderLedger(metadata, state),
    ),
    kind: 'lateLedger',
  },
  {
    name: 'a slot is free as soon as its DataVolume is not seen',
    invariant: 2,
    seam: seam(
      ADMISSION.heldSlots,
      'HeldSlots',
      (HeldSlots) =>
        class extends HeldSlots {
          readonly #seen: HeldSlotsOptions['dataVolumes']

          constructor(options: HeldSlotsOptions) {
            super(options)
            this.#seen = options.dataVolumes
          }

          override isOver(holder: Holder): boolean {
            const isHeld = ({ metadata }: DataVolumeView) =>
              metadata.name.endsWith(holder.revision) && metadata.ownerReferences?.[0]?.uid === holder.uid
            return ![...this.#seen.values()].some(isHeld) || super.isOver(holder)
          }
        },
    ),
    kind: 'impatient',
  },
  {
    name: 'an importer that outlives its DataVolume is not looked for',
    invariant: 2,
    alsoCaughtAs: [4],
    seam: seam(ADMISSION.downloads, 'lookForRemains', () => async () => ({ what: 'nothing' })),
    kind: 'impatient',
  },
  {
    name: 'an unanswered create is forgotten at once',
    invariant: 2,
    alsoCaughtAs: [1],
    seam: forgetful,
    kind: 'delayed',
  },
  {
    name: 'last come, first served',
    invariant: 3,
    seam: nextBy(({ values }, count) => {
      return values
        .filter((start) => start.admissible)
        .toReversed()
        .slice(0, count)
    }),
    kind: 'rush',
  },
  {
    name: 'tickets are compared as words',
    invariant: 3,
    seam: nextBy(({ heads }, count, isStuck) => {
      const all = heads(Number.POSITIVE_INFINITY, isStuck)
      return all.toSorted((a, b) => a.ticket.localeCompare(b.ticket)).slice(0, count)
    }),
    kind: 'rush',
  },
  {
    name: 'DataVolumes of a batch come in any order',
    invariant: 3,
    // Only claims compare in this way. The queue, in the module of `compareTickets`, uses the original.
    seam: seam(ADMISSION.queue, 'compareTickets', (compareTickets) => (a, b) => compareTickets(b, a)),
    kind: 'rush',
    seed: 4,
  },
  { name: 'one slot more than the limit, at the gate alone', invariant: 1, seam: oneSlotMore, kind: 'gateCalm' },
  {
    name: 'a claim is good for ever',
    invariant: 2,
    alsoCaughtAs: [1],
    seam: seam(
      ADMISSION.ledger,
      'SlotLedger',
      (SlotLedger) =>
        class extends SlotLedger {
          override get isFresh(): boolean {
            return true
          }
        },
    ),
    kind: 'gateFrozen',
  },
  {
    name: 'an unanswered create is forgotten at once, at the gate alone',
    invariant: 2,
    alsoCaughtAs: [1],
    seam: forgetful,
    kind: 'gateLate',
  },
  {
    name: 'an image that is still being enqueued is overtaken',
    invariant: 3,
    seam: nextBy(({ heads }, count) => heads(count, () => true)),
    kind: 'gateCalm',
  },
  {
    name: 'whoever changes an image at the head of the queue again and again decides how long others wait',
    invariant: 3,
    alsoCaughtAs: [6],
    seam: seam(
      ADMISSION.blockedQueue,
      'BlockedQueue',
      (BlockedQueue) =>
        class extends BlockedQueue {
          override isPassed(): boolean {
            return false
          }
        },
    ),
    kind: 'tenants',
  },
  {
    name: 'each image that is changed again and again holds up others for a time of its own',
    invariant: 3,
    alsoCaughtAs: [6],
    seam: seam(
      ADMISSION.blockedQueue,
      'BlockedQueue',
      (BlockedQueue) =>
        class extends BlockedQueue {
          override see(): void {}

          override note(uid: string | undefined, now: number): void {
            super.note(uid, now)
            if (uid !== undefined) super.see(uid, now)
          }
        },
    ),
    kind: 'tenants',
  },
  {
    name: 'nobody looks whether a quota leaves room for an import',
    invariant: 3,
    seam: seam(SHARED.quotas, 'lackOfRoom', () => () => undefined),
    kind: 'cramped',
  },
  {
    name: 'a list that is older than the question is taken for an answer',
    invariant: 2,
    seam: seam(
      SHARED.sharedReads,
      'SharedReads',
      (SharedReads) =>
        class<T> extends SharedReads<T> {
          readonly #last = new Map<string, Promise<T>>()

          override take(at: string, signal: AbortSignal): Promise<T> {
            const last = this.#last.get(at)
            const next = super.take(at, signal)
            this.#last.set(at, next)
            return last ?? next
          }
        },
    ),
    kind: 'impatient',
  },
  {
    name: 'an orphan that stands still keeps its slot for ever',
    invariant: 2,
    seam: timedOut(() => false),
    kind: 'orphaned',
  },
  {
    name: 'an orphan that still downloads has no slot any more',
    invariant: 2,
    seam: timedOut(({ orphan }) => orphan?.isOrphan === true),
    kind: 'orphaned',
  },
  {
    name: 'any number of holders is believed',
    invariant: 2,
    seam: seam(ADMISSION.ledgerContent, 'parseLedger', (parseLedger) => (object) => parseLedger(object)),
    kind: 'flooded',
  },
  {
    name: 'a lost ledger is made again without those who download',
    invariant: 2,
    seam: seam(ADMISSION.downloads, 'findHolders', () => async () => []),
    kind: 'amnesiac',
  },
]
