import { useState } from 'preact/hooks'
import type { Row, UiVerb } from '../rows.ts'
import { countsText } from './list-view.tsx'
import type { PageStore } from './page-store.ts'
import { Note, RowBadge, useNow } from './parts.tsx'
import { agoOf, isMatch, stateOf, wordsOf } from './states.ts'
import { VERB_WORDS } from './verb-dialog.tsx'

const VERBS = Object.keys(VERB_WORDS) as readonly UiVerb[]

interface LabsViewProps {
  readonly store: PageStore
  readonly filter: string
  readonly onShow: (lab: string) => void
  readonly onVerb: (verb: UiVerb, names: readonly string[]) => void
}

/** Labs of a class as tiles. Verbs are for those that are selected. */
export function LabsView({ store, filter, onShow, onVerb }: LabsViewProps) {
  const now = useNow()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const labs = store.all('labs')
  const words = wordsOf(filter)
  const shown = labs.filter((row) => isMatch(row, words))
  const names = shown.map(({ name }) => name).filter((name) => selected.has(name))
  const toggle = (name: string) => {
    const next = new Set(selected)
    if (!next.delete(name)) next.add(name)
    setSelected(next)
  }
  return (
    <>
      <Note>
        {countsText(labs)}
        {words.length > 0 && ` · ${shown.length} shown`}
      </Note>
      <div class="toolbar" role="toolbar" aria-label="What to do with the labs that are selected">
        <button type="button" onClick={() => setSelected(new Set(shown.map(({ name }) => name)))}>
          Select all {shown.length}
        </button>
        <button type="button" disabled={names.length === 0} onClick={() => setSelected(new Set())}>
          Select none
        </button>
        <span aria-live="polite">{names.length} selected</span>
        {VERBS.map((verb) => (
          <button
            type="button"
            key={verb}
            disabled={names.length === 0}
            class={VERB_WORDS[verb].isLoss ? 'danger' : ''}
            onClick={() => onVerb(verb, names)}
          >
            {VERB_WORDS[verb].button}
          </button>
        ))}
      </div>
      <ul class="tiles">
        {shown.map((lab) => (
          <Tile
            key={lab.key}
            lab={lab}
            now={now}
            isSelected={selected.has(lab.name)}
            onToggle={toggle}
            onShow={onShow}
          />
        ))}
      </ul>
    </>
  )
}

interface TileProps {
  readonly lab: Row
  readonly now: number
  readonly isSelected: boolean
  readonly onToggle: (name: string) => void
  readonly onShow: (name: string) => void
}

function Tile({ lab, now, isSelected, onToggle, onShow }: TileProps) {
  const { name, ready, outdated, waitingFor, expiresAt, warnings, reason, message } = lab
  return (
    <li class={`tile ${stateOf(lab)} ${isSelected ? 'selected' : ''}`}>
      <input type="checkbox" checked={isSelected} onChange={() => onToggle(name)} aria-label={`Select ${name}`} />
      <button type="button" class="tile-body" onClick={() => onShow(name)} title={message}>
        <strong>{name}</strong>
        <span>
          <RowBadge row={lab} /> {ready}
        </span>
        <span class="faint">{waitingFor ?? (reason === lab.phase ? '' : reason)}</span>
        <span class="marks">
          {outdated !== undefined && <span class="mark">outdated {outdated}</span>}
          {warnings !== undefined && <span class="mark">{warnings === 1 ? '1 warning' : `${warnings} warnings`}</span>}
          {expiresAt !== undefined && <EndMark expiresAt={expiresAt} now={now} />}
        </span>
      </button>
    </li>
  )
}

function EndMark({ expiresAt, now }: { readonly expiresAt: string; readonly now: number }) {
  const isOver = Date.parse(expiresAt) <= now
  const left = agoOf(expiresAt, now)
  return <span class="mark">{isOver ? `ended ${left} ago` : `ends in ${left}`}</span>
}
