import { type Row, type SlotsUpdate, UI_KINDS, type UiKind, type Update } from '../rows.ts'

/** What the page knows of the cluster. It changes with each message of the server, and says so at most once in a frame. */
export class PageStore {
  readonly #rows = new Map<UiKind, Map<string, Row>>(UI_KINDS.map((kind) => [kind, new Map()]))
  readonly #sorted = new Map<UiKind, readonly Row[]>()
  readonly #listeners = new Set<() => void>()
  #isTold = true
  problems: Update['problems'] = {}
  pending: readonly UiKind[] = UI_KINDS
  slots: SlotsUpdate = { slots: [] }
  /** `lost`: what is shown may be old. */
  connection: 'connecting' | 'live' | 'lost' = 'connecting'

  /** Returns all rows of a kind, by name. The list is the same one until something changes. */
  all(kind: UiKind): readonly Row[] {
    const known = this.#sorted.get(kind)
    if (known !== undefined) return known
    const rows = [...(this.#rows.get(kind)?.values() ?? [])].sort(byKey)
    this.#sorted.set(kind, rows)
    return rows
  }

  row(kind: UiKind, key: string): Row | undefined {
    return this.#rows.get(kind)?.get(key)
  }

  take({ isWhole, kinds, slots, problems, pending }: Update): void {
    for (const kind of UI_KINDS) {
      const rows = this.#rows.get(kind)
      const changed = kinds[kind]
      if (rows === undefined || changed === undefined) continue
      if (isWhole) rows.clear()
      for (const row of changed.put) rows.set(row.key, row)
      for (const key of changed.gone) rows.delete(key)
      this.#sorted.delete(kind)
    }
    this.slots = slots ?? this.slots
    this.problems = problems
    this.pending = pending
    this.connection = 'live'
    this.#tell()
  }

  /** Follows the server until the page is closed. The browser asks again by itself when the connection ends. */
  follow(address: string): void {
    const source = new EventSource(address)
    source.onmessage = ({ data }) => this.take(JSON.parse(data as string) as Update)
    source.onerror = () => {
      this.connection = 'lost'
      this.#tell()
    }
  }

  /** Calls `listener` after changes, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(): void {
    if (!this.#isTold) return
    this.#isTold = false
    requestAnimationFrame(() => {
      this.#isTold = true
      for (const listener of this.#listeners) listener()
    })
  }
}

function byKey(a: Row, b: Row): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}
