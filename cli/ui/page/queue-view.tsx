import type { SlotInUse } from '../../queue/queue-picture.ts'
import { shortDuration } from '../../table.ts'
import type { Row, UiKind } from '../rows.ts'
import { countsText } from './list-view.tsx'
import type { PageStore } from './page-store.ts'
import { Note, Progress, RowBadge, useNow } from './parts.tsx'
import { type Column, RowTable } from './row-table.tsx'
import { agoOf, isMatch, wordsOf } from './states.ts'

interface QueueViewProps {
  readonly store: PageStore
  readonly filter: string
  readonly onOpen: (kind: UiKind, key: string) => void
  readonly openKey: string | undefined
}

/** Who has the slots, who waits for one in which order, and who waits for something else. */
export function QueueView({ store, filter, onOpen, openKey }: QueueViewProps) {
  const now = useNow()
  const images = store.all('images')
  const words = wordsOf(filter)
  const { limit, slots, unseen } = store.slots
  const holders = new Set(slots.map(({ image }) => image))
  const queued = images.filter((row) => row.phase === 'Queued' && !holders.has(row.key) && isMatch(row, words))
  const line = queued.filter(({ isHeldUp }) => isHeldUp !== true).sort(byPlace)
  const others = queued.filter(({ isHeldUp }) => isHeldUp === true)
  const table = { kind: 'images', columns: columnsOf(now), onOpen, openKey } as const
  return (
    <>
      <Note>{countsText(images)}</Note>
      <h2>
        Slots: {slots.length} of {limit ?? '?'} in use
      </h2>
      {unseen !== undefined && <Note>{unseen}</Note>}
      <ul class="slots">
        {slots.map((slot) => (
          <li key={slot.image}>
            <Slot slot={slot} now={now} onOpen={onOpen} />
          </li>
        ))}
      </ul>
      <h2>Waiting for a slot: {line.length}</h2>
      <RowTable label="Images that wait for a slot" rows={line} {...table} />
      <h2>Waiting for something else: {others.length}</h2>
      <RowTable label="Images that wait for something else" rows={others} {...table} />
    </>
  )
}

interface SlotProps extends Pick<QueueViewProps, 'onOpen'> {
  readonly slot: SlotInUse
  readonly now: number
}

function Slot({ slot, now, onOpen }: SlotProps) {
  const { image, state, since, attempt, percent, percentPerMinute, secondsLeft, for: waiters } = slot
  const facts = [
    state,
    ...(since === undefined ? [] : [`for ${agoOf(since, now)}`]),
    ...((attempt ?? 1) > 1 ? [`attempt ${attempt}`] : []),
    ...(percentPerMinute === undefined ? [] : [`${percentPerMinute} % a minute`]),
    ...(secondsLeft === undefined ? [] : [`${shortDuration(secondsLeft * 1_000)} left`]),
  ]
  return (
    <button type="button" class="slot" onClick={() => onOpen('images', image)}>
      <strong>{image}</strong>
      <Progress percent={percent} />
      <span>{facts.join(' · ')}</span>
      <span class="faint">{waiters.count === 0 ? 'for nobody' : `for ${waiters.names.join(', ')}`}</span>
    </button>
  )
}

function byPlace(a: Row, b: Row): number {
  return (a.place ?? Number.MAX_SAFE_INTEGER) - (b.place ?? Number.MAX_SAFE_INTEGER)
}

function columnsOf(now: number): readonly Column[] {
  return [
    { title: 'Place', width: '4rem', cell: ({ place }) => place ?? '' },
    { title: 'Image', width: 'minmax(10rem, 2fr)', cell: ({ name }) => <strong>{name}</strong> },
    { title: 'Namespace', width: 'minmax(6rem, 1fr)', cell: ({ namespace }) => namespace ?? '' },
    { title: 'Phase', width: '8rem', cell: (row) => <RowBadge row={row} /> },
    { title: 'Why', width: '12rem', cell: ({ reason }) => reason ?? '' },
    { title: 'Message', width: 'minmax(12rem, 4fr)', cell: ({ message }) => <span title={message}>{message}</span> },
    { title: 'Waits', width: '4rem', cell: ({ queuedAt }) => agoOf(queuedAt, now) },
    { title: 'Users', width: '4rem', cell: ({ users }) => users ?? '' },
  ]
}
