import { firstFew } from '../../operator/base/messages.ts'
import { fromTime } from '../../operator/base/time.ts'
import { shortDuration, tableOf } from '../table.ts'
import type { HeldUp, PlaceInLine, QueuePicture, SlotInUse } from './queue-picture.ts'

/** Names of what waits for an image that fit into a line. */
const WAITERS_SHOWN = 2

interface TextOptions {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Rows of each table. The others are counted. */
  readonly rows: number
  /** Why the limit and the holders are not known. */
  readonly unseen?: string | undefined
}

/** Returns the queue as tables, with a sentence for what is not known. */
export function queueText(picture: QueuePicture, { now, rows, unseen }: TextOptions): string {
  const { slots, line, heldUp } = picture
  const sections = [
    `${slotsTitle(picture)}${unseen === undefined ? '' : `; ${unseen}`}\n`,
    section(SLOT_HEADERS, slots, rows, (slot, at) => slotCells(slot, at, now)),
    section(PLACE_HEADERS, line, rows, (place) => placeCells(place, now)),
    section(HELD_UP_HEADERS, heldUp, rows, (one) => heldUpCells(one, now)),
    `${summaryOf(picture)}\n`,
  ]
  return sections.filter((text) => text !== '').join('\n')
}

function slotsTitle({ limit, slots }: QueuePicture): string {
  if (limit === undefined) return `slots: ${slots.length} in use`
  const paused = limit === 0 ? ': the policy key concurrency is 0, so nothing starts' : ''
  return `slots: ${slots.length} of ${limit} in use${paused}`
}

function section<T>(
  headers: readonly string[],
  items: readonly T[],
  rows: number,
  cellsOf: (item: T, at: number) => readonly string[],
): string {
  if (items.length === 0) return ''
  const shown = items.slice(0, rows)
  const more = items.length - shown.length
  return tableOf(headers, shown.map(cellsOf)) + (more > 0 ? `… and ${more} more: --all shows them\n` : '')
}

const SLOT_HEADERS = ['SLOT', 'IMAGE', 'STATE', 'SINCE', 'PROGRESS', 'RATE', 'LEFT', 'ATTEMPT', 'FOR']

function slotCells(slot: SlotInUse, at: number, now: number): readonly string[] {
  const { image, state, since, percent, percentPerMinute, secondsLeft, attempt } = slot
  return [
    String(at + 1),
    image,
    state,
    ago(since, now),
    percent === undefined ? '' : `${percent}%`,
    percentPerMinute === undefined ? '' : `${percentPerMinute}%/min`,
    secondsLeft === undefined ? '' : `~${shortDuration(secondsLeft * 1_000)}`,
    attempt === undefined ? '' : String(attempt),
    waiters(slot),
  ]
}

const PLACE_HEADERS = ['PLACE', 'IMAGE', 'WAITS', 'STARTS', 'FOR']

function placeCells(one: PlaceInLine, now: number): readonly string[] {
  const { place, image, since, secondsToStart } = one
  const starts = secondsToStart === undefined ? '' : `in ~${shortDuration(secondsToStart * 1_000)}`
  return [place === undefined ? '' : String(place), image, ago(since, now), starts, waiters(one)]
}

const HELD_UP_HEADERS = ['IMAGE', 'REASON', 'NEXT', 'FOR', 'MESSAGE']

function heldUpCells(one: HeldUp, now: number): readonly string[] {
  const until = fromTime(one.until)
  const next = until === undefined ? '' : until <= now ? 'now' : `in ${shortDuration(until - now)}`
  return [one.image, one.reason, next, waiters(one), one.message ?? '']
}

function ago(time: string | undefined, now: number): string {
  const ms = fromTime(time)
  return ms === undefined ? '' : shortDuration(now - ms)
}

function waiters({ for: { count, names } }: Pick<SlotInUse, 'for'>): string {
  if (count === 0) return ''
  const more = Math.max(0, count - names.length)
  return firstFew([...names, ...Array.from({ length: more }, () => '')], WAITERS_SHOWN)
}

function summaryOf({ phases }: QueuePicture): string {
  const total = Object.values(phases).reduce((sum, count) => sum + count, 0)
  if (total === 0) return 'no images'
  const parts = Object.entries(phases).map(([phase, count]) => `${count} ${phase}`)
  return `${total} ${total === 1 ? 'image' : 'images'}: ${parts.join(', ')}`
}
