import type { Start } from '../../decide/image-plan.ts'
import type { SlotWait } from '../../world.ts'
import {
  canArrive,
  inheritedRequests,
  NO_REQUESTS,
  type Requests,
  withAnswer,
  withDoubt,
  withSent,
} from './requests.ts'

/** What a slot can be. Its image has a slot until the ledger is written after it has become `empty`. */
export const SLOT_STATES = {
  claimed: 'no DataVolume yet, one is to be made',
  asked: 'the request for it is under way',
  running: 'its DataVolume is there',
  finished: 'it has succeeded, and late requests and earlier importers must be over',
  ending: 'its DataVolume is being deleted',
  left: 'no DataVolume, and none is to be made',
  empty: 'nothing can download for it any more',
} as const

export type SlotState = keyof typeof SLOT_STATES

/** All transitions of {@link step}: from each of these states, at one of these facts, to that state. The picture in docs/architecture.md is made of it. */
export const TRANSITIONS: readonly Transition[] = [
  { from: ['claimed'], on: ['asked'], to: 'asked', because: 'its request is sent' },
  { from: ['asked'], on: ['failed', 'inherited'], to: 'claimed', because: 'failed' },
  { from: ['asked'], on: ['created', 'failed', 'refused'], to: 'running', because: 'created' },
  { from: ['asked'], on: ['refused', 'failed'], to: 'left', because: 'refused, an earlier one may arrive' },
  { from: ['asked'], on: ['refused', 'failed'], to: 'empty', because: 'refused, none can arrive' },
  { from: ['running'], on: ['seen'], to: 'finished', because: 'succeeded' },
  { from: ['running'], on: ['seen'], to: 'ending', because: 'deleted' },
  { from: ['finished'], on: ['seen'], to: 'empty', because: 'no importer, no request' },
  { from: ['ending'], on: ['seen'], to: 'empty', because: 'live reads found no download' },
  { from: ['running', 'ending', 'finished'], on: ['seen'], to: 'left', because: 'gone' },
  { from: ['claimed'], on: ['seen'], to: 'left', because: 'not wanted any more' },
  { from: ['left'], on: ['seen'], to: 'claimed', because: 'wanted again' },
  { from: ['left'], on: ['read'], to: 'empty', because: 'live reads found nothing' },
  // What follows is rare: a late request, somebody else, or the state of a cache has changed what is there.
  { from: ['claimed', 'left', 'finished', 'ending', 'empty'], on: ['seen'], to: 'running' },
  { from: ['claimed', 'left', 'ending', 'empty'], on: ['seen'], to: 'finished' },
  { from: ['claimed', 'left', 'finished', 'empty'], on: ['seen'], to: 'ending' },
  { from: ['claimed', 'left', 'running'], on: ['seen'], to: 'empty' },
  { from: ['empty'], on: ['seen'], to: 'left' },
  { from: ['running', 'finished', 'ending', 'empty'], on: ['seen'], to: 'claimed' },
  { from: ['claimed', 'asked'], on: ['lost'], to: 'left' },
  { from: ['empty'], on: ['taken', 'inherited'], to: 'claimed' },
]

interface Transition {
  readonly from: readonly SlotState[]
  readonly on: readonly Fact['kind'][]
  readonly to: SlotState
  /** In the picture. Undefined: it is rare, and not drawn. */
  readonly because?: string
}

/**
 * A slot, as far as this process knows more of it than the ledger says. A download without a slot is followed to its end as if it had one, so that it
 * counts for as long.
 */
export type Slot = Known & ({ readonly state: Exclude<SlotState, 'asked' | 'empty'> } | Asked | Empty)

interface Asked {
  readonly state: 'asked'
  /** Whether the watch has told of a DataVolume before the response came. */
  readonly isThere: boolean
}

interface Empty {
  readonly state: 'empty'
  /** Whether that was concluded from a DataVolume that is there. Once that is gone, it is no more than any that is left. */
  readonly isByDownload: boolean
}

/** What is known in every state. All times are monotonic, in milliseconds. */
interface Known {
  /** What its image wants to download. */
  readonly wanted: Start | undefined
  readonly requests: Requests
  readonly tries: Tries
  /** What CDI has made to download for it. */
  readonly remains: Remains
  /** Since when it waits for pods and claims that may or may not be its own, or for claims that CDI may still fill. */
  readonly doubtedSince: number | undefined
  /** Since when CDI may fill claims of a DataVolume that is gone, which nobody deletes. */
  readonly orphanedSince: number | undefined
  /** What else than an importer live reads have found for a while, which keeps the slot. */
  readonly waitsFor: SlotWait | undefined
  /** Whether live reads are under way. What they find is about the time before, so nothing is asked for until then. */
  readonly isReading: boolean
  /** Not before then are live reads made again. */
  readonly readAt: number
  /** When importers that CDI should have ended are ended, by uid of the pod. */
  readonly endAt: ReadonlyMap<string, number>
}

/** Creates that had no success. */
interface Tries {
  /** How many have failed, and how many of these got an error response. */
  readonly failures: number
  readonly answered: number
  /** When the next create is due. */
  readonly retryAt: number
  readonly isLate: boolean
}

export interface Remains {
  /** By uid. */
  readonly claims: ReadonlyMap<string, Remain>
  readonly pods: ReadonlyMap<string, Remain>
}

/** A claim or an importer pod. It may be gone by now. */
export interface Remain {
  readonly namespace: string | undefined
  readonly name: string
  readonly uid: string
  /** UID of the DataVolume that it is for. */
  readonly dataVolume: string
}

/** What a slot learns. */
export type Fact =
  /** The ledger has it from now on, or a download without a slot is followed from now on. */
  | { readonly kind: 'taken' }
  /** The ledger has it no more. */
  | { readonly kind: 'lost' }
  /** It belonged to another process or term, whose requests may still be in flight. */
  | { readonly kind: 'inherited' }
  /** What its image wants to download; undefined: nothing any more. */
  | { readonly kind: 'wanted'; readonly start: Start | undefined }
  /** The request for its DataVolume is sent. */
  | { readonly kind: 'asked' }
  /** The request takes too long, or a webhook that it needs cannot be called. */
  | { readonly kind: 'late' }
  | { readonly kind: 'created' }
  /** `mayHappen`: the request may still take effect. */
  | { readonly kind: 'failed'; readonly isAnswered: boolean; readonly mayHappen: boolean; readonly retryInMs: number }
  | { readonly kind: 'refused' }
  /** All that is known of what CDI has made for it. */
  | { readonly kind: 'found'; readonly remains: Remains }
  /** What the caches show. */
  | ({ readonly kind: 'seen' } & Seen)
  /** Now, after this was seen, what nobody else does may be due. */
  | ({ readonly kind: 'checked'; readonly seen: Seen } & Checked)
  /** What live reads found, and what was seen after them. */
  | ({ readonly kind: 'read'; readonly seen: Seen } & LiveFinding)

export interface Checked {
  /** Uids of importers that nobody ends, though what they fill is being deleted. */
  readonly unended: readonly string[]
  /** The DataVolume is gone, and nobody deletes the claims that CDI fills for it: somebody deleted it with `--cascade=orphan`. */
  readonly hasOrphan: boolean
  /** How long an attempt may take. */
  readonly attemptMs: number
}

/** What the caches show. */
export interface Seen {
  readonly download: SeenDownload | undefined
  /** While the download is finished: one of an earlier DataVolume. */
  readonly isImporterAlive: boolean
  /** The image was neither deleted nor changed since it said what it wants. Otherwise its own reconcile decides what comes next. */
  readonly isAsPlanned: boolean
}

export interface SeenDownload {
  readonly state: 'running' | 'finished' | 'ending' | 'over'
  /** It has been `ending` for so long that live reads are due. */
  readonly isReadDue: boolean
  /** It has lost its owner, and has used up the time that a download gets. */
  readonly isTimedOut: boolean
  /** It is of the attempt that the slot is held for. */
  readonly isOfAttempt: boolean
}

export interface LiveFinding {
  /** Undefined: the reads failed, or the DataVolume is there and no look at it is due. */
  readonly found:
    | undefined
    | {
        /** The DataVolume is there, and being deleted. `isWaiting`: for its dependents. */
        readonly ending: undefined | { readonly isWaiting: boolean }
        readonly left: 'nothing' | 'importer' | Exclude<SlotWait, 'orphaned'>
      }
  /** How long a claim counts that CDI may still fill. It would have filled it by then. */
  readonly claimMs: number
}

/** What is to be done. */
export type Effect =
  /** Read live what is left of it. */
  | { readonly kind: 'read' }
  /** Delete this importer. CDI does that, if it is there. */
  | { readonly kind: 'endImporter'; readonly uid: string }
  /** Delete the claim of a DataVolume that somebody keeps. Until then CDI would go on filling it, with one importer after another. */
  | { readonly kind: 'endClaim' }
  /** Delete the claims that CDI fills although their DataVolume is gone: that has taken as long as an attempt may. */
  | { readonly kind: 'endOrphan' }
  /** Delete the DataVolume again, in the background: the dependents that it still waits for download nothing. */
  | { readonly kind: 'stopWaiting' }
  /** Record that nothing can download for the DataVolume any more. */
  | { readonly kind: 'over' }
  /** Free the slot for another image: the DataVolume cannot be created. */
  | { readonly kind: 'refuse' }
  /** Tell the image: creating its DataVolume takes long, or what keeps its slot is something else than an importer. */
  | { readonly kind: 'report' }

export interface SlotStep {
  readonly slot: Slot
  readonly effects: readonly Effect[]
}

/** After this many error responses of the API server or a webhook, the slot is freed for another image. */
const ANSWERED_FAILURES = 4
/** Number of failed creates that is reported: a single failure may be one lost response. */
const FAILING_CREATES = 2
/** How long CDI has to end the importers of a deleted DataVolume. After that the operator does it: CDI may be away. */
const CDI_ENDS_MS = 3_000
/** From the end of live reads of a slot to the next ones. */
export const READ_AGAIN_MS = 1_000
/** Kubernetes usually removes the claims of a DataVolume within seconds: nobody needs to read of those. */
const TOLD_AFTER_MS = 15_000
/** Longest wait for pods and claims that may be a stranger's. Importers have 30 s to end. */
const DOUBT_MS = 120_000

const NO_TRIES: Tries = { failures: 0, answered: 0, retryAt: 0, isLate: false }

export const NEW_SLOT: Slot = {
  state: 'claimed',
  wanted: undefined,
  requests: NO_REQUESTS,
  tries: NO_TRIES,
  remains: { claims: new Map(), pods: new Map() },
  doubtedSince: undefined,
  orphanedSince: undefined,
  waitsFor: undefined,
  isReading: false,
  readAt: 0,
  endAt: new Map(),
}

/** Returns what a slot is after a fact, and what is to be done. @param now monotonic, in milliseconds */
export function step(slot: Slot, fact: Fact, now: number): SlotStep {
  switch (fact.kind) {
    case 'taken':
      return only(slot.state === 'empty' ? { ...slot, state: 'claimed' } : slot)
    case 'lost':
      return only({
        ...inState(slot, slot.state === 'claimed' || slot.state === 'asked' ? 'left' : slot.state),
        ...FORGOTTEN,
      })
    case 'inherited':
      return only({
        ...inState(slot, slot.state === 'asked' || slot.state === 'empty' ? 'claimed' : slot.state),
        requests: inheritedRequests(now),
      })
    case 'wanted':
      return only({ ...slot, wanted: fact.start })
    case 'found':
      return only({ ...slot, remains: fact.remains })
    case 'asked':
      return only({ ...inState(slot, 'asked'), requests: withSent(slot.requests, now) })
    case 'late':
      return { slot: { ...slot, tries: { ...slot.tries, isLate: true } }, effects: [{ kind: 'report' }] }
    case 'created':
      return only({
        ...inState(slot, 'running'),
        wanted: undefined,
        // Requests that still arrive get AlreadyExists, unless this one is deleted before that.
        requests: withAnswer(slot.requests),
        tries: NO_TRIES,
      })
    case 'failed':
      return afterFailure(slot, fact, now)
    case 'refused':
      return only(afterRefusal(slot, now))
    case 'seen':
      return only(afterSight(slot, fact, now))
    case 'checked':
      return afterCheck(slot, fact, now)
    case 'read':
      return afterRead(slot, fact, now)
  }
}

/** Reports whether nothing follows from it as long as its DataVolume just runs. */
export function isAtRest({ state, doubtedSince, endAt, orphanedSince, waitsFor }: Slot): boolean {
  const isDoubtful = doubtedSince !== undefined || orphanedSince !== undefined || waitsFor !== undefined
  return state === 'running' && !isDoubtful && endAt.size === 0
}

/** Reports whether its DataVolume is to be asked for. */
export function isDue({ state, wanted, isReading, readAt, tries }: Slot, now: number): boolean {
  return state === 'claimed' && wanted !== undefined && !isReading && readAt <= now && tries.retryAt <= now
}

/** Reports whether creating its DataVolume fails or takes too long. It keeps its slot, since a request may still succeed. */
export function isCreateFailing({ tries }: Slot): boolean {
  return tries.isLate || tries.failures >= FAILING_CREATES
}

/** Reports whether it certainly downloads nothing yet, but will. */
export function isIdle({ state, wanted, requests }: Slot, now: number): boolean {
  return (state === 'claimed' || state === 'left') && wanted !== undefined && !canArrive(requests, now)
}

/**
 * Returns the first time after `moment` at which something about it becomes possible; `Infinity`: none. Each step of the admission asks this of each slot: no
 * lists are made.
 * @param attemptMs how long an attempt may take
 */
export function nextTimeOf(slot: Slot, attemptMs: number, moment: number): number {
  const { requests, tries, readAt, endAt, orphanedSince } = slot
  const earlier = (time: number, next: number) => (time > moment && time < next ? time : next)
  let next = earlier(requests.arriveUntil, earlier(tries.retryAt, earlier(readAt, Number.POSITIVE_INFINITY)))
  if (endAt.size > 0) for (const time of endAt.values()) next = earlier(time, next)
  if (orphanedSince === undefined) return next
  return earlier(orphanedSince + TOLD_AFTER_MS, earlier(orphanedSince + attemptMs, next))
}

const FORGOTTEN = { wanted: undefined, requests: NO_REQUESTS, tries: NO_TRIES } as const

function only(slot: Slot): SlotStep {
  return { slot, effects: [] }
}

function inState(slot: Slot, state: SlotState): Slot {
  if (state === slot.state) return slot
  if (state === 'asked') return { ...slot, state, isThere: false }
  return state === 'empty' ? { ...slot, state, isByDownload: false } : { ...slot, state }
}

function afterFailure(slot: Slot, fact: Extract<Fact, { kind: 'failed' }>, now: number): SlotStep {
  const { failures, answered, isLate } = slot.tries
  const tries: Tries = {
    failures: failures + 1,
    answered: answered + (fact.isAnswered ? 1 : 0),
    retryAt: now + fact.retryInMs,
    isLate,
  }
  const requests = fact.mayHappen ? withDoubt(slot.requests, now) : slot.requests
  const next: Slot = { ...slot, tries, requests }
  const isRefused = slot.state === 'asked' && !slot.isThere && tries.answered >= ANSWERED_FAILURES
  return isRefused ? { slot: afterRefusal(next, now), effects: [{ kind: 'refuse' }] } : only(afterAnswer(next))
}

/** No request is under way any more. */
function afterAnswer(slot: Slot): Slot {
  return slot.state === 'asked' ? inState(slot, slot.isThere ? 'running' : 'claimed') : slot
}

/** It is empty, unless an earlier request may still be carried out: then live reads decide later. */
function afterRefusal(slot: Slot, now: number): Slot {
  const next: Slot = { ...slot, wanted: undefined, requests: withAnswer(slot.requests) }
  if (slot.state !== 'asked' || slot.isThere) return afterAnswer(next)
  return inState(next, canArrive(next.requests, now) ? 'left' : 'empty')
}

function afterSight(slot: Slot, { download, isImporterAlive, isAsPlanned }: Seen, now: number): Slot {
  if (slot.state === 'asked') return { ...slot, isThere: download !== undefined }
  if (download === undefined) {
    if (slot.state === 'empty' && !slot.isByDownload) return slot
    // Looks stop while the caches know an importer: what it leaves is waited for from its end on.
    return inState(
      isImporterAlive ? withoutDoubtOf(slot) : withoutDoubtOf(slot, 'ending'),
      slot.wanted !== undefined && isAsPlanned ? 'claimed' : 'left',
    )
  }
  const there = slot.state === download.state ? slot : withoutDoubtOf(slot)
  const isOver = download.state === 'over' || download.isTimedOut
  // A request that arrived late may have created it while an importer of its predecessor was still terminating.
  const isDone = download.state === 'finished' && !isImporterAlive && isMet(slot, download, now)
  if (isOver || isDone) return { ...there, state: 'empty', isByDownload: true }
  return inState(there, download.state)
}

/** The wait for what is doubtful is of one state: the rest of a DataVolume that is going, or of one that is gone. */
function withoutDoubtOf(slot: Slot, state: SlotState = slot.state): Slot {
  return slot.state !== state || slot.doubtedSince === undefined ? slot : { ...slot, doubtedSince: undefined }
}

/**
 * Reports whether all requests in flight have met the finished download. As long as it exists, no other can be created, but somebody may delete it.
 * Requests of a former leader are not waited for, since that would stall a handover.
 */
function isMet({ requests }: Slot, { isOfAttempt }: SeenDownload, now: number): boolean {
  return (requests.areInherited && isOfAttempt) || !canArrive(requests, now)
}

function afterCheck(slot: Slot, fact: Extract<Fact, { kind: 'checked' }>, now: number): SlotStep {
  const { unended, seen } = fact
  const ends = unended.map((uid) => ({ uid, at: slot.endAt.get(uid) ?? now + CDI_ENDS_MS }))
  const endAt = new Map(ends.map(({ uid, at }) => [uid, at <= now ? now + CDI_ENDS_MS : at]))
  const effects = ends.flatMap(({ uid, at }): Effect[] => (at <= now ? [{ kind: 'endImporter', uid }] : []))
  const isToBeRead = slot.readAt <= now && !slot.isReading && mayBeEmpty(slot, seen, now)
  if (isToBeRead) effects.push({ kind: 'read' })
  const { slot: next, effects: more } = afterOrphaning(slot, fact, now)
  return { slot: { ...next, endAt, isReading: next.isReading || isToBeRead }, effects: [...effects, ...more] }
}

/** Nothing shows whether an importer without a DataVolume makes progress, so it has the time that an attempt has. */
function afterOrphaning(
  slot: Slot,
  { hasOrphan, attemptMs, seen }: Extract<Fact, { kind: 'checked' }>,
  now: number,
): SlotStep {
  const since = hasOrphan ? (slot.orphanedSince ?? now) : undefined
  const isOverdue = since !== undefined && now - since >= attemptMs
  const isTold = since !== undefined && now - since >= TOLD_AFTER_MS && seen.isImporterAlive
  const waitsFor = isTold ? 'orphaned' : slot.waitsFor === 'orphaned' ? undefined : slot.waitsFor
  const effects: Effect[] = isOverdue ? [{ kind: 'endOrphan' }] : []
  if (isTold && slot.waitsFor !== waitsFor) effects.push({ kind: 'report' })
  // The deletion may fail.
  return { slot: { ...slot, waitsFor, orphanedSince: isOverdue ? since + CDI_ENDS_MS : since }, effects }
}

/** Reports whether nothing that is known of keeps the slot. Only live reads show what is not known. */
function mayBeEmpty({ state, wanted, requests }: Slot, seen: Seen, now: number): boolean {
  if (canArrive(requests, now)) return false
  if (state === 'left') return !seen.isImporterAlive
  const isToBeMade = wanted !== undefined && seen.isAsPlanned
  return state === 'ending' && seen.download?.isReadDue === true && !isToBeMade
}

function afterRead(before: Slot, fact: Extract<Fact, { kind: 'read' }>, now: number): SlotStep {
  const looked: Slot = { ...before, isReading: false, readAt: now + READ_AGAIN_MS }
  const { slot, effects } = afterFinding(looked, fact, now)
  const { found } = fact
  const isWaiting = found?.left === 'claim' || found?.left === 'doubtful'
  const isTold = isWaiting && now - (slot.doubtedSince ?? now) >= TOLD_AFTER_MS
  const waitsFor = found === undefined ? slot.waitsFor : isTold ? found.left : undefined
  const isNews = waitsFor !== undefined && waitsFor !== before.waitsFor
  return { slot: { ...slot, waitsFor }, effects: isNews ? [...effects, { kind: 'report' }] : effects }
}

function afterFinding(before: Slot, { found, claimMs, seen }: Extract<Fact, { kind: 'read' }>, now: number): SlotStep {
  if (found === undefined || (found.ending !== undefined && before.state !== 'ending')) return only(before)
  const { ending, left } = found
  const slot: Slot = { ...before, doubtedSince: doubtAfter(before, found, now) }
  const doubtedMs = now - (slot.doubtedSince ?? now)
  if (ending !== undefined) {
    // Somebody's finalizer may keep the DataVolume for ever, and a stranger's pod may look like its importer for as long.
    const isNothingLeft = left === 'nothing' || (left === 'doubtful' && doubtedMs >= DOUBT_MS)
    return { slot, effects: [{ kind: !isNothingLeft ? 'endClaim' : ending.isWaiting ? 'stopWaiting' : 'over' }] }
  }
  const isNothingLeft = {
    nothing: true,
    importer: false,
    claim: doubtedMs >= claimMs,
    doubtful: doubtedMs >= DOUBT_MS,
  }[left]
  // What was true before the reads must still be true after them.
  const isEmpty = isNothingLeft && slot.state === 'left' && mayBeEmpty(slot, seen, now)
  return only(isEmpty ? inState(slot, 'empty') : slot)
}

/** A claim is waited for once its DataVolume is gone. An importer that is found ends the wait: what it leaves is waited for from then on. */
function doubtAfter(
  { doubtedSince }: Slot,
  { left, ending }: NonNullable<LiveFinding['found']>,
  now: number,
): Slot['doubtedSince'] {
  if (left === 'importer') return undefined
  const isDoubted = left === 'doubtful' || (left === 'claim' && ending === undefined)
  return isDoubted ? (doubtedSince ?? now) : doubtedSince
}
