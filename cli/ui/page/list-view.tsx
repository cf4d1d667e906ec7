import type { Row, UiKind } from '../rows.ts'
import type { PageStore } from './page-store.ts'
import { Note, RowBadge, useNow } from './parts.tsx'
import { type Column, RowTable } from './row-table.tsx'
import { agoOf, isMatch, wordsOf } from './states.ts'

interface ListViewProps {
  readonly store: PageStore
  readonly kind: UiKind
  readonly title: string
  readonly filter: string
  readonly onOpen: (kind: UiKind, key: string) => void
  readonly openKey: string | undefined
}

/** All objects of a kind, of which a filter selects some. */
export function ListView({ store, kind, title, filter, onOpen, openKey }: ListViewProps) {
  const now = useNow()
  const rows = store.all(kind)
  const words = wordsOf(filter)
  const chosen = words.length === 0 ? rows : rows.filter((row) => isMatch(row, words))
  return (
    <>
      <Note>
        {countsText(rows)}
        {words.length > 0 && ` · ${chosen.length} shown`}
      </Note>
      <RowTable
        label={title}
        kind={kind}
        rows={chosen}
        columns={columnsOf(kind, now)}
        onOpen={onOpen}
        openKey={openKey}
      />
    </>
  )
}

/** Returns how many there are of which phase: `12 objects: 10 Ready, 2 Failed`. */
export function countsText(rows: readonly Row[]): string {
  const counts = new Map<string, number>()
  for (const { phase = 'not seen yet' } of rows) counts.set(phase, (counts.get(phase) ?? 0) + 1)
  const parts = [...counts].sort(([, a], [, b]) => b - a).map(([phase, count]) => `${count} ${phase}`)
  return rows.length === 0 ? 'There are none.' : `${rows.length} in all: ${parts.join(', ')}`
}

function columnsOf(kind: UiKind, now: number): readonly Column[] {
  return [
    { title: 'Name', width: 'minmax(10rem, 2fr)', cell: ({ name }) => <strong>{name}</strong> },
    { title: 'Namespace', width: 'minmax(6rem, 1fr)', cell: ({ namespace }) => namespace ?? '' },
    { title: 'Phase', width: '9rem', cell: (row) => <RowBadge row={row} /> },
    ...(kind === 'images' ? IMAGE_COLUMNS : []),
    ...(kind === 'syncs' ? [{ title: 'Ready', width: '5rem', cell: ({ ready }: Row) => ready ?? '' }] : []),
    { title: 'Reason', width: '11rem', cell: ({ reason }) => reason ?? '' },
    { title: 'Message', width: 'minmax(12rem, 4fr)', cell: ({ message }) => <span title={message}>{message}</span> },
    { title: 'Age', width: '4rem', cell: ({ createdAt }) => agoOf(createdAt, now) },
  ]
}

const IMAGE_COLUMNS: readonly Column[] = [
  { title: 'Users', width: '4rem', cell: ({ users }) => users ?? '' },
  { title: 'Progress', width: '6rem', cell: ({ progress, phase }) => (phase === 'Syncing' ? progress : '') },
]
