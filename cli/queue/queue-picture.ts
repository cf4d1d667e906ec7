import type { Reason, VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { compareTexts } from '../../operator/base/messages.ts'
import { fromTime } from '../../operator/base/time.ts'
import { compareTickets } from '../../operator/controllers/vm-disk-image/admission/admission-queue.ts'
import type { LedgerState } from '../../operator/controllers/vm-disk-image/admission/decide/ledger-content.ts'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { expectedStarts } from './expected-starts.ts'

/** What the queue needs to know of an image. */
export interface ImageInQueue {
  /** `<namespace>/<name>`. */
  readonly key: string
  readonly uid: string
  readonly isTerminating: boolean
  readonly status: Pick<VMDiskImageStatus, (typeof KEPT)[number]>
  /** How long its last attempts took, in seconds. */
  readonly durations: readonly number[]
}

const KEPT = [
  ...(['phase', 'reason', 'message', 'ticket', 'queuedAt', 'queuePosition', 'progress', 'startedAt'] as const),
  ...(['attempt', 'nextRetryTime', 'references'] as const),
] as const

/** Keeps of an image what the queue needs: there may be ten thousand. */
export function imageInQueue({ metadata, ...rest }: KubeObject): ImageInQueue {
  const { status = {} } = rest as { readonly status?: VMDiskImageStatus }
  const kept = KEPT.filter((field) => status[field] !== undefined).map((field) => [field, status[field]] as const)
  return {
    key: keyOf(metadata),
    uid: metadata.uid ?? '',
    isTerminating: metadata.deletionTimestamp !== undefined,
    status: Object.fromEntries(kept),
    durations: durationsIn(status),
  }
}

/** An attempt that was stopped for another reason than a failure says nothing of the next one. */
function durationsIn({ attempts = [] }: VMDiskImageStatus): readonly number[] {
  return attempts.flatMap(({ outcome, durationSeconds }) => (outcome === 'Cancelled' ? [] : (durationSeconds ?? [])))
}

/** What was read. */
export interface QueueFacts {
  readonly images: Iterable<ImageInQueue>
  /** Undefined: it is not known, for example because the caller may not read it. */
  readonly ledger: LedgerState | undefined
  /** Whether these are all images of the cluster. Otherwise nobody can tell places by their tickets. */
  readonly isWhole: boolean
}

/** What waits for an image, or uses it, as its status says. */
interface Waiters {
  readonly count: number
  /** `<kind>/<namespace>/<name>` of the first few. */
  readonly names: readonly string[]
}

interface Waiting {
  readonly image: string
  /** RFC 3339. */
  readonly since?: string | undefined
  readonly for: Waiters
}

export interface SlotInUse extends Waiting {
  /** Reason in the status of the image. `Claimed`: nothing is to be seen of the download yet. `Gone`: the image does not exist any more. `Unknown`: it was not listed. */
  readonly state: string
  readonly message?: string | undefined
  readonly attempt?: number | undefined
  /** Percent of the download, as CDI tells them. */
  readonly percent?: number | undefined
  /** Average since the download began. */
  readonly percentPerMinute?: number | undefined
  /** If it goes on like that. */
  readonly secondsLeft?: number | undefined
}

export interface PlaceInLine extends Waiting {
  /** 1 is next. Absent: nobody knows. */
  readonly place?: number | undefined
  /** About when it gets a slot, in seconds from now, as the durations of attempts before say. Absent: that cannot be told. */
  readonly secondsToStart?: number | undefined
}

export interface HeldUp extends Waiting {
  readonly reason: string
  readonly message?: string | undefined
  /** When it goes on by itself, in RFC 3339. */
  readonly until?: string | undefined
}

/** The queue, as `ot queue -o json` prints it. */
export interface QueuePicture {
  /** Downloads at a time. Absent: not known. */
  readonly limit?: number | undefined
  readonly slots: readonly SlotInUse[]
  /** Images that wait for a slot, in their order. */
  readonly line: readonly PlaceInLine[]
  /** Images that wait for something else, and hold up nobody. */
  readonly heldUp: readonly HeldUp[]
  /** How many images there are in each phase, Terminating ones aside. */
  readonly phases: Readonly<Record<string, number>>
}

/** Reasons of an image that waits for its turn alone. */
const IN_LINE: ReadonlySet<string | undefined> = new Set<Reason>(['Queued', 'Paused'])
const PERCENT = /^(\d+(?:\.\d+)?)%$/
const MINUTE_MS = 60_000

/** Returns what there is to see of the queue. The order is the operator's own. @param now milliseconds since the epoch */
export function queuePicture(facts: QueueFacts, now: number): QueuePicture {
  const { ledger, isWhole } = facts
  const all = [...facts.images]
  const holders = new Set(ledger?.holders.map(({ uid }) => uid))
  const waiting = all.filter((image) => !holders.has(image.uid) && isWaiting(image))
  const inLine = waiting.filter(isInLine).toSorted((one, other) => compareTickets(ticketOf(one), ticketOf(other)))
  const heldUp = waiting.filter((image) => !isInLine(image)).toSorted((one, other) => compareTexts(one.key, other.key))
  const slots = slotsInUse({ images: all, ledger, isWhole }, now)
  const durations = all.flatMap((image) => image.durations)
  const running = slots.map(({ secondsLeft, since }) => {
    const begun = fromTime(since)
    return { secondsLeft, secondsSoFar: begun === undefined ? undefined : (now - begun) / 1_000 }
  })
  // Of one namespace nobody knows who is before whom, nor how long others take.
  const limit = isWhole ? (ledger?.limit ?? 0) : 0
  const starts = expectedStarts({ waiting: inLine.length, limit, running, durations })
  return {
    limit: ledger?.limit,
    slots,
    line: inLine.map((image, at) => ({
      place: isWhole ? at + 1 : image.status.queuePosition,
      image: image.key,
      since: image.status.queuedAt,
      secondsToStart: starts[at],
      for: waitersOf(image),
    })),
    heldUp: heldUp.map((image) => {
      const { reason = 'New', message, nextRetryTime, queuedAt } = image.status
      const until = reason === 'RetryBackoff' ? nextRetryTime : undefined
      return { image: image.key, reason, message, until, since: queuedAt, for: waitersOf(image) }
    }),
    phases: phasesOf(all),
  }
}

/** Returns who has the slots: the holders, and then those that still download without one. @param now milliseconds since the epoch */
export function slotsInUse({ images, ledger, isWhole }: QueueFacts, now: number): readonly SlotInUse[] {
  const holders = new Map(ledger?.holders.map((holder) => [holder.uid, holder]))
  const byUid = new Map<string, ImageInQueue>()
  const others: ImageInQueue[] = []
  for (const image of images) {
    if (holders.has(image.uid)) byUid.set(image.uid, image)
    else if (image.status.phase === 'Syncing') others.push(image)
  }
  const held = [...holders.values()].map((holder): SlotInUse => {
    const image = byUid.get(holder.uid)
    if (image !== undefined) return slotOf(image, holder.attempt, now)
    const state = isWhole ? 'Gone' : 'Unknown'
    return { image: keyOf(holder), state, attempt: holder.attempt, for: waitersOf(undefined) }
  })
  return [...held, ...others.map((image) => slotOf(image, image.status.attempt, now))]
}

/** Reports whether an image waits for something else than a slot, as long as it has none. */
export function isHeldUp(image: ImageInQueue): boolean {
  return isWaiting(image) && !isInLine(image)
}

function isWaiting({ isTerminating, status: { phase = 'Queued' } }: ImageInQueue): boolean {
  return !isTerminating && phase === 'Queued'
}

function isInLine({ status: { reason, ticket } }: ImageInQueue): boolean {
  return IN_LINE.has(reason) && ticket !== undefined
}

function ticketOf({ uid, status: { ticket = '' } }: ImageInQueue) {
  return { uid, ticket }
}

function slotOf(image: ImageInQueue, attempt: number | undefined, now: number): SlotInUse {
  const { reason = 'Claimed', message, startedAt, progress } = image.status
  // The status may be about the time before the slot.
  const isClaimed = IN_LINE.has(reason) || reason === 'RetryBackoff'
  const since = isClaimed ? undefined : startedAt
  const seen = isClaimed ? undefined : PERCENT.exec(progress ?? '')?.[1]
  const percent = seen === undefined ? undefined : Number(seen)
  const state = isClaimed ? 'Claimed' : reason
  return {
    ...{ image: image.key, state, message: isClaimed ? undefined : message, attempt, since, percent },
    ...rateOf(percent, fromTime(since), now),
    for: waitersOf(image),
  }
}

function rateOf(percent: number | undefined, since: number | undefined, now: number) {
  if (percent === undefined || since === undefined || percent === 0 || now <= since) return {}
  const perMinute = (percent * MINUTE_MS) / (now - since)
  return {
    percentPerMinute: Math.round(perMinute * 10) / 10,
    secondsLeft: Math.round(((100 - percent) / perMinute) * 60),
  }
}

/** A lab says more than its machines. */
const KINDS_FIRST = ['Workspace', 'DataSync', 'VirtualMachine']

function waitersOf(image: ImageInQueue | undefined): Waiters {
  const { count = 0, names = [] } = image?.status.references ?? {}
  const rank = (name: string) => {
    const at = KINDS_FIRST.indexOf(name.slice(0, name.indexOf('/')))
    return at === -1 ? KINDS_FIRST.length : at
  }
  return { count, names: names.toSorted((one, other) => rank(one) - rank(other) || compareTexts(one, other)) }
}

function phasesOf(images: readonly ImageInQueue[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { isTerminating, status } of images) {
    const phase = isTerminating ? 'Terminating' : (status.phase ?? 'New')
    counts[phase] = (counts[phase] ?? 0) + 1
  }
  return counts
}
