import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Row, UiKind } from '../rows.ts'

/** Pixels, as the style sheet has it. */
const ROW_HEIGHT = 34
/** Rows beyond what is seen, so that scrolling shows no gaps. */
const BEYOND = 12

export interface Column {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Of the columns of a CSS grid. */
  readonly width: string
}

interface RowTableProps {
  readonly label: string
  readonly kind: UiKind
  readonly rows: readonly Row[]
  readonly columns: readonly Column[]
  readonly onOpen: (kind: UiKind, key: string) => void
  readonly openKey: string | undefined
}

/** A table of any length: only the rows that can be seen exist. Arrow keys, Page Up, Page Down, Home and End move in it, Enter opens. */
export function RowTable({ label, kind, rows, columns, onOpen, openKey }: RowTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [active, setActive] = useState(0)
  useEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const at = Math.min(active, Math.max(0, rows.length - 1))
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - BEYOND)
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + BEYOND)
  const move = (to: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, to))
    setActive(next)
    const element = scroller.current
    if (element === null) return
    const start = next * ROW_HEIGHT
    if (start < element.scrollTop) element.scrollTop = start
    else if (start + 2 * ROW_HEIGHT > element.scrollTop + height) element.scrollTop = start + 2 * ROW_HEIGHT - height
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 2)
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    }
    const target = targets[event.key]
    const row = rows[at]
    if (target !== undefined) move(target)
    else if (event.key === 'Enter' && row !== undefined) onOpen(kind, row.key)
    else return
    event.preventDefault()
  }
  const template = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') }
  return (
    <div
      class="rows"
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={rows.length === 0 ? undefined : rowId(kind, at)}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
    >
      <div role="row" class="row head" style={template} aria-rowindex={1}>
        {columns.map(({ title }) => (
          <span role="columnheader" key={title}>
            {title}
          </span>
        ))}
      </div>
      <div class="rows-inside" role="rowgroup" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
        {rows.slice(first, last).map((row, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the grid that has the focus takes the keys
          <div
            role="row"
            id={rowId(kind, first + index)}
            key={row.key}
            aria-rowindex={first + index + 2}
            aria-selected={row.key === openKey}
            tabIndex={-1}
            class={`row ${first + index === at ? 'active' : ''} ${row.key === openKey ? 'open' : ''}`}
            style={{ ...template, top: `${(first + index) * ROW_HEIGHT}px` }}
            onClick={() => {
              setActive(first + index)
              onOpen(kind, row.key)
            }}
          >
            {columns.map(({ title, cell }) => (
              <span role="gridcell" key={title}>
                {cell(row)}
              </span>
            ))}
          </div>
        ))}
      </div>
    </div>
  )
}

function rowId(kind: UiKind, index: number): string {
  return `row-${kind}-${index}`
}
