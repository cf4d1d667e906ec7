/** A row of the table of upgrades in docs/installation.md. */
export interface UpgradeNote {
  /** The last version that behaves as before. */
  readonly after: string
  readonly what: string
  readonly toDo: string
}

const HEADER = /^\| Since a version after +\| What changed +\| What to do +\|$/m
const CELL = /(?<!\\)\|/

/** Reads the table of upgrades. Throws if it is not there, or a row has other than three cells. */
export function upgradeNotes(page: string): readonly UpgradeNote[] {
  const header = HEADER.exec(page)
  if (header === null)
    throw new Error('docs/installation.md has no table "Since a version after | What changed | What to do"')
  const lines = page.slice(header.index).split('\n')
  const rows = lines.slice(
    2,
    lines.findIndex((line) => !line.startsWith('|')),
  )
  return rows.map((row) => {
    const cells = row.split(CELL).slice(1, -1)
    const [after = '', what = '', toDo = ''] = cells.map((cell) => cell.trim())
    if (cells.length !== 3)
      throw new Error(`a row of the table of upgrades has ${cells.length} cells in place of 3: ${row}`)
    return { after, what, toDo }
  })
}

/** A name of the product: a field, a key, a condition, a reason, an annotation. Of `name: value`, the name. */
const NAME = /^(?<name>[A-Za-z][\w.-]*(?:\/[\w.-]+)?)(?:: .*)?$/

/** The names in code that a note mentions, without commands, paths and flags. The last part of `status.restoreRequest` is its name. */
export function namesIn({ what, toDo }: UpgradeNote): readonly string[] {
  const code = [...`${what} ${toDo}`.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
  const names = code.flatMap((text) => NAME.exec(text)?.groups?.['name'] ?? [])
  return [...new Set(names.map((name) => (name.includes('/') ? name : (name.split('.').at(-1) ?? name))))]
}
