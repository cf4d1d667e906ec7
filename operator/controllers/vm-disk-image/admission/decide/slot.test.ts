import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../../../../test/prepared/runtime/times.ts'
import { aStart } from '../../../../../test/prepared/vm-disk-image/admission.ts'
import {
  type Effect,
  type Fact,
  isAtRest,
  isDue,
  NEW_SLOT,
  type Seen,
  type SeenDownload,
  SLOT_STATES,
  type Slot,
  step,
  TRANSITIONS,
} from './slot.ts'

const { start } = aStart('a', '1')
const CLAIM_MS = 600 * SECOND
/** How long a request may take to take effect, by design. */
const ARRIVAL_MS = 15 * SECOND
const DOUBTFUL_MS = 120 * SECOND
/** What CDI has to end its importers. */
const CDI_ENDS_MS = 3 * SECOND
const ATTEMPT_MS = CLAIM_MS
const DEPTH = 7

type Time = { readonly kind: 'time'; readonly ms: number }
type Move = Fact | Time

const BOTH = [false, true]
const there = (state: 'running' | 'finished' | 'ending' | 'over', more: object = {}): SeenDownload => ({
  state,
  isReadDue: false,
  isTimedOut: false,
  isOfAttempt: true,
  ...more,
})

const SIGHTS: readonly Seen[] = [
  ...BOTH.flatMap((isImporterAlive) =>
    BOTH.map((isAsPlanned): Seen => ({ download: undefined, isImporterAlive, isAsPlanned })),
  ),
  ...BOTH.flatMap((isImporterAlive) =>
    [there('finished'), there('finished', { isOfAttempt: false })].map(
      (download): Seen => ({ download, isImporterAlive, isAsPlanned: false }),
    ),
  ),
  ...[
    there('running'),
    there('running', { isTimedOut: true }),
    there('ending'),
    there('ending', { isReadDue: true }),
    there('over'),
  ].map((download): Seen => ({ download, isImporterAlive: true, isAsPlanned: true })),
]
const [NOTHING_SEEN] = SIGHTS as [Seen]

const CHECKED = { kind: 'checked', unended: [], hasOrphan: false, attemptMs: ATTEMPT_MS, seen: NOTHING_SEEN } as const

const FOUND = (['nothing', 'importer', 'claim', 'doubtful'] as const).flatMap((left) => [
  { left, ending: undefined },
  ...BOTH.map((isWaiting) => ({ left, ending: { isWaiting } })),
])

const MOVES: readonly Move[] = [
  { kind: 'taken' },
  { kind: 'lost' },
  { kind: 'inherited' },
  { kind: 'wanted', start },
  { kind: 'wanted', start: undefined },
  { kind: 'asked' },
  { kind: 'late' },
  { kind: 'created' },
  ...BOTH.flatMap((isAnswered) =>
    BOTH.map((mayHappen): Fact => ({ kind: 'failed', isAnswered, mayHappen, retryInMs: SECOND })),
  ),
  { kind: 'refused' },
  ...SIGHTS.map((seen): Fact => ({ kind: 'seen', ...seen })),
  ...[[], ['pod']].map((unended): Fact => ({ ...CHECKED, unended })),
  { ...CHECKED, hasOrphan: true },
  ...[undefined, ...FOUND].map((found): Fact => ({ kind: 'read', found, claimMs: CLAIM_MS, seen: NOTHING_SEEN })),
  ...[SECOND, ARRIVAL_MS, DOUBTFUL_MS / 2, CLAIM_MS].map((ms): Time => ({ kind: 'time', ms })),
]

/** What somebody knows who sees all facts and keeps his own books. */
interface Book {
  readonly isHeld: boolean
  /** Until when a request may take effect: one under way, and those without a definite response. */
  readonly underWay: number
  readonly doubtful: number
  readonly areInherited: boolean
  readonly seen: Seen
  readonly doubtSince: number | undefined
  readonly podSince: number | undefined
  readonly orphanedSince: number | undefined
}

interface Place {
  readonly slot: Slot
  readonly book: Book
  readonly now: number
}

const NEW: Place = {
  slot: NEW_SLOT,
  book: {
    isHeld: true,
    underWay: 0,
    doubtful: 0,
    areInherited: false,
    seen: NOTHING_SEEN,
    doubtSince: undefined,
    podSince: undefined,
    orphanedSince: undefined,
  },
  now: 1_000_000,
}
/** One more response with an error is one too many. */
const FAILING: Place = { ...NEW, slot: { ...NEW_SLOT, tries: { ...NEW_SLOT.tries, failures: 3, answered: 3 } } }
const BEGIN: readonly Place[] = [NEW, FAILING]

/** Whether the class that drives the slot would tell it this. */
function isPossible(move: Move, { slot, book, now }: Place): boolean {
  if (move.kind === 'taken') return !book.isHeld
  if (move.kind === 'lost' || move.kind === 'inherited') return book.isHeld
  // It looks into the caches right before it asks.
  if (move.kind === 'asked') return book.isHeld && isDue(slot, now) && book.seen.download === undefined
  if (move.kind === 'created' || move.kind === 'failed' || move.kind === 'refused') return book.underWay > now
  if (move.kind === 'wanted') return book.isHeld || move.start === undefined
  if (move.kind === 'checked') return !move.hasOrphan || book.seen.download === undefined
  if (move.kind !== 'read') return true
  // A look finds a DataVolume exactly if the cache has it then.
  return (
    slot.isReading &&
    (move.found === undefined || (move.found.ending !== undefined) === (move.seen.download !== undefined))
  )
}

function written({ book, now }: Place, move: Move): Book {
  const seen = move.kind === 'seen' ? move : book.seen
  const isEnded = seen.download === undefined && seen.isImporterAlive
  const doubted = isSameEnd(book.seen, seen) && !isEnded ? book.doubtSince : undefined
  const next = { ...book, seen, doubtSince: doubted }
  switch (move.kind) {
    case 'taken':
      return { ...next, isHeld: true }
    case 'lost':
      return { ...next, isHeld: false, underWay: 0, doubtful: 0, areInherited: false }
    case 'inherited':
      return { ...next, areInherited: true, underWay: 0, doubtful: now + ARRIVAL_MS }
    case 'asked':
      return { ...next, areInherited: false, underWay: now + ARRIVAL_MS }
    case 'created':
    case 'refused':
      return { ...next, underWay: 0 }
    case 'failed':
      return { ...next, underWay: 0, doubtful: move.mayHappen ? now + ARRIVAL_MS : book.doubtful }
    case 'checked':
      return {
        ...next,
        podSince: move.unended.length > 0 ? (book.podSince ?? now) : undefined,
        orphanedSince: move.hasOrphan ? (book.orphanedSince ?? now) : undefined,
      }
    case 'read':
      return { ...next, doubtSince: doubtAfter(move.found, doubted, now) }
    default:
      return next
  }
}

function doubtAfter(
  found: (typeof FOUND)[number] | undefined,
  since: number | undefined,
  now: number,
): number | undefined {
  if (found?.left === 'importer') return undefined
  const isDoubted = found?.left === 'doubtful' || (found?.left === 'claim' && found.ending === undefined)
  return isDoubted ? (since ?? now) : since
}

/** Whether the wait for what is doubtful is about the same: the rest of a DataVolume that is gone, or of one that is going. An importer that is seen ends it. */
function isSameEnd(before: Seen, after: Seen): boolean {
  const [one, other] = [before.download, after.download]
  return one === undefined ? other === undefined : one.state === 'ending' && other?.state === 'ending'
}

function mayArrive({ underWay, doubtful }: Book, now: number): boolean {
  return underWay > now || doubtful > now
}

/** Returns why nobody may believe that the slot has become empty at this move; undefined: it is right. */
function wrongEmptiness(move: Move, book: Book, now: number): string | undefined {
  const { download, isImporterAlive } = book.seen
  if (download !== undefined) return wrongEnd(download, book, now)
  if (mayArrive(book, now)) return 'a request may still arrive'
  if (move.kind === 'refused' || move.kind === 'failed') return undefined
  if (move.kind !== 'read' || move.found === undefined) return 'nobody has looked'
  return isImporterAlive ? 'an importer is alive' : wrongRest(move.found.left, now - (book.doubtSince ?? now))
}

function wrongEnd(download: SeenDownload, book: Book, now: number): string | undefined {
  if (download.state === 'over' || download.isTimedOut) return undefined
  if (download.state !== 'finished') return `its DataVolume is ${download.state}`
  if (book.seen.isImporterAlive) return 'an importer of an earlier DataVolume is alive'
  const isOfFormer = book.areInherited && download.isOfAttempt
  return isOfFormer || !mayArrive(book, now) ? undefined : 'a request may still arrive behind the finished one'
}

function isStillLeft(left: string | undefined, waitedMs: number): boolean {
  return left !== 'nothing' && (left !== 'doubtful' || waitedMs < DOUBTFUL_MS)
}

function wrongRest(left: (typeof FOUND)[number]['left'], waitedMs: number): string | undefined {
  if (left === 'importer') return 'there is an importer'
  if (left === 'claim' && waitedMs < CLAIM_MS) return 'CDI may fill a claim'
  return left === 'doubtful' && waitedMs < DOUBTFUL_MS ? 'there may be an importer' : undefined
}

/** Returns why its DataVolume must not be asked for after this move. */
function wrongRequest(before: Slot, move: Fact, slot: Slot, book: Book): string | undefined {
  if (slot.isReading) return 'a DataVolume is to be made behind live reads'
  const isToBeMade = slot.wanted !== undefined && book.seen.isAsPlanned && book.seen.download === undefined
  // It is looked into the caches again right before it is asked for.
  const isSeenLater = before.state === 'claimed' || move.kind !== 'seen'
  return isToBeMade || isSeenLater ? undefined : 'a DataVolume is to be made that is not wanted, or is there'
}

function wrongEffect({ kind }: Effect, slot: Slot, move: Fact, book: Book, now: number): string | undefined {
  const isWanted = slot.wanted !== undefined && book.seen.isAsPlanned
  const isTooEarly = {
    read: mayArrive(book, now) || isWanted,
    over: move.kind === 'read' && isStillLeft(move.found?.left, now - (book.doubtSince ?? now)),
    endClaim: book.seen.download?.state !== 'ending',
    stopWaiting: book.seen.download?.state !== 'ending',
    endImporter: now - (book.podSince ?? now) < CDI_ENDS_MS,
    endOrphan: now - (book.orphanedSince ?? now) < ATTEMPT_MS,
    refuse: slot.wanted !== undefined,
    report: !slot.tries.isLate && slot.waitsFor === undefined,
  }[kind]
  return isTooEarly ? `${kind} comes too early` : undefined
}

/** Returns what is wrong with a step, by the sentences of invariants 1 and 2. */
function wrongs({ slot: before, now }: Place, move: Fact, book: Book): string[] {
  const { slot, effects } = step(before, move, now)
  const isSeen = move.kind === 'seen' && move.download !== undefined
  const isNewlyEmpty = slot.state === 'empty' && (before.state !== 'empty' || isSeen)
  return [
    isNewlyEmpty ? wrongEmptiness(move, book, now) : undefined,
    isDue(slot, now) ? wrongRequest(before, move, slot, book) : undefined,
    isDue(slot, now) && book.underWay > now ? 'a second request goes beside the first' : undefined,
    ...effects.map((effect) => wrongEffect(effect, slot, move, book, now)),
  ].filter((one) => one !== undefined)
}

/** What is left of times that no longer matter is not told apart. */
function fingerprint({ slot, book, now }: Place): string {
  const left = (at: number | undefined) => (at === undefined ? 'none' : Math.max(0, at - now))
  const since = (at: number | undefined) => (at === undefined ? 'none' : Math.min(CLAIM_MS, now - at))
  const { requests, tries, wanted, readAt, doubtedSince, orphanedSince, endAt, remains: _, ...rest } = slot
  return JSON.stringify([
    ...[requests.arriveUntil, requests.doubtfulUntil, tries.retryAt, readAt, book.underWay, book.doubtful].map(left),
    ...[doubtedSince, book.doubtSince, book.podSince, orphanedSince, book.orphanedSince].map(since),
    [...endAt.values()].map(left),
    Math.min(2, tries.failures),
    [tries.answered, tries.isLate, requests.areInherited, wanted === undefined, rest],
    [book.isHeld, book.areInherited, book.seen.download, book.seen.isImporterAlive, book.seen.isAsPlanned],
  ])
}

/** Visits each move from each place that at most {@link DEPTH} moves lead to. Returns all places. */
function walk(visit: (place: Place, move: Fact, after: Place) => void): Place[] {
  const known = new Map(BEGIN.map((place) => [fingerprint(place), place]))
  let edge = BEGIN
  for (let depth = 0; depth < DEPTH; depth += 1) {
    const reached = edge.flatMap((place) => MOVES.flatMap((move) => moved(place, move, visit) ?? []))
    const added = new Map(reached.map((place) => [fingerprint(place), place]))
    for (const key of known.keys()) added.delete(key)
    for (const [key, place] of added) known.set(key, place)
    edge = [...added.values()]
  }
  return [...known.values()]
}

function moved(before: Place, given: Move, visit: (place: Place, move: Fact, after: Place) => void): Place | undefined {
  const { now, book } = before
  if (given.kind === 'time') return { ...before, now: now + given.ms }
  const { seen } = book
  // It is looked into the caches right before these.
  const isSeenBefore = given.kind === 'checked' || given.kind === 'read'
  const move = isSeenBefore ? { ...given, seen } : given
  const place = isSeenBefore ? { ...before, slot: step(before.slot, { ...seen, kind: 'seen' }, now).slot } : before
  if (!isPossible(move, place)) return undefined
  const after = { now, slot: step(place.slot, move, now).slot, book: written(place, move) }
  visit(place, move, after)
  return after
}

/** What happens to any slot in the end where nobody wants anything, nothing is there, and nothing is found. */
function atRest({ slot: before, now: begun }: Place): Slot {
  let [slot, now] = [before, begun]
  const tell = (fact: Fact) => {
    const next = step(slot, fact, now)
    slot = next.slot
    return next.effects.some(({ kind }) => kind === 'read')
  }
  if (slot.state === 'asked') tell({ kind: 'failed', isAnswered: false, mayHappen: true, retryInMs: SECOND })
  const found = { left: 'nothing', ending: undefined } as const
  tell({ kind: 'wanted', start: undefined })
  tell({ kind: 'seen', ...NOTHING_SEEN })
  if (slot.isReading) tell({ kind: 'read', found: undefined, claimMs: CLAIM_MS, seen: NOTHING_SEEN })
  now += ARRIVAL_MS + SECOND
  if (tell(CHECKED)) tell({ kind: 'read', found, claimMs: CLAIM_MS, seen: NOTHING_SEEN })
  return slot
}

describe('a slot, for all facts in all states that they lead to', () => {
  const wrong = new Set<string>()
  const seen = new Set<string>()
  const places = walk((place, move, after) => {
    const [from, to] = [place.slot.state, after.slot.state]
    if (from !== to) seen.add(`${from} ─ ${move.kind} ─▶ ${to}`)
    for (const what of wrongs(place, move, after.book)) wrong.add(`${from}, ${JSON.stringify(move)}: ${what}`)
  })

  it('is empty only if nothing can download for it, and is asked for, looked at and ended only when that is right', () => {
    expect([...wrong]).toEqual([])
  })

  it('changes as its table says, and in no other way', () => {
    const table = TRANSITIONS.flatMap(({ from, on, to }) =>
      from.flatMap((one) => (one === to ? [] : on.map((fact) => `${one} ─ ${fact} ─▶ ${to}`))),
    )
    expect([...seen].toSorted()).toEqual([...new Set(table)].toSorted())
  })

  it('stays as it is at the sight and check of a running download, if it is at rest: nobody needs to look', () => {
    const resting = places.filter(({ slot }) => isAtRest(slot))
    const sight: Seen = { download: there('running'), isImporterAlive: true, isAsPlanned: true }
    const moved = resting.filter(({ slot, now }) => {
      const steps = [step(slot, { ...sight, kind: 'seen' }, now), step(slot, { ...CHECKED, seen: sight }, now)]
      return !isDeepStrictEqual(steps, [
        { slot, effects: [] },
        { slot, effects: [] },
      ])
    })
    expect(moved).toEqual([])
    expect(resting.length).toBeGreaterThan(50)
  })

  it('is empty in the end, wherever it was, when nothing is wanted and nothing is left', () => {
    const held = places.map(atRest).filter(({ state }) => state !== 'empty')
    expect(held).toEqual([])
    expect(places.length).toBeGreaterThan(1_000)
  })
})

it('ends in two minutes where a finalizer keeps the DataVolume, and a pod that may be a stranger is left', () => {
  const seen: Seen = { ...NOTHING_SEEN, download: there('ending', { isReadDue: true }) }
  let [slot, now] = [step(NEW_SLOT, { ...seen, kind: 'seen' }, 0).slot, 0]
  const ends = (ms: number) => {
    now += ms
    slot = step(slot, { ...seen, kind: 'seen' }, now).slot
    slot = step(slot, { ...CHECKED, seen }, now).slot
    const next = step(
      slot,
      { kind: 'read', found: { left: 'doubtful', ending: { isWaiting: false } }, claimMs: CLAIM_MS, seen },
      now,
    )
    slot = next.slot
    return next.effects.map(({ kind }) => kind)
  }
  expect([0, DOUBTFUL_MS / 2, DOUBTFUL_MS / 2].map(ends)).toEqual([['endClaim'], ['endClaim', 'report'], ['over']])
})

/** In the language of Mermaid. */
function picture(): string {
  const states = Object.entries(SLOT_STATES).map(([state, what]) => `  ${state}: ${state} — ${what}`)
  const arrows = TRANSITIONS.flatMap(({ from, to, because }) =>
    because === undefined ? [] : from.map((one) => `  ${one} --> ${to}: ${because}`),
  )
  return ['stateDiagram-v2', ...states, '  [*] --> claimed', ...arrows, '  empty --> [*]'].join('\n')
}

it('the picture of a slot in docs/architecture.md is what its table says', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../../../../docs/architecture.md'), 'utf8')
  expect(/```mermaid\n(stateDiagram[^`]*)\n```/.exec(docs)?.[1]).toBe(picture())
})
