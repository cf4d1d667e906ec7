import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** What a change is to those who use a release, with the title of its part of CHANGELOG.md, in the order of these. */
export const KINDS = {
  breaking: 'Changed, with something to do',
  security: 'Security',
  added: 'Added',
  changed: 'Changed',
  deprecated: 'Deprecated',
  removed: 'Removed',
  fixed: 'Fixed',
} as const

type Kind = keyof typeof KINDS

/** A change that the next release brings: a file in `changes/`. */
export interface ChangeEntry {
  readonly file: string
  readonly kind: Kind
  /** The first words of its row in the table of upgrades. */
  readonly upgrade: string | undefined
  /** What changes, for those who use it: Markdown without headings and links. */
  readonly text: string
}

/** Not an entry: it says how to write one. */
const ABOUT = 'README.md'
const PARTS = /^---\n(?<head>.*?)\n---\n(?<text>.*)$/s

/** Reads an entry. Throws an error of one sentence that names the file, and says what to do. */
export function parseEntry(file: string, content: string): ChangeEntry {
  const { head = '', text = '' } = PARTS.exec(content)?.groups ?? {}
  const wrong = (what: string) => new Error(`changes/${file}: ${what}`)
  const { kind, upgrade, ...others } = (parse(head) ?? {}) as Record<string, unknown>
  if (!isKind(kind))
    throw wrong(`kind is ${kind}: write one of ${Object.keys(KINDS).join(', ')} between two lines of ---`)
  const unknown = Object.keys(others)[0]
  if (unknown !== undefined) throw wrong(`${unknown} is not known: an entry has kind and, if it is breaking, upgrade`)
  if ((kind === 'breaking') !== (typeof upgrade === 'string'))
    throw wrong(
      'a change that is breaking has upgrade, the first words of its row in the table of docs/installation.md, and no other change has',
    )
  if (text.trim() === '') throw wrong('say what changes, in one or two sentences')
  if (/^#|\]\(/m.test(text)) throw wrong('leave out headings and links: the text is also read where they lead nowhere')
  return { file, kind, upgrade: typeof upgrade === 'string' ? upgrade : undefined, text: text.trim() }
}

/** The entries of a folder `changes`, in the order of their names. */
export function readEntries(folder: string): readonly ChangeEntry[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== ABOUT)
  return files.sort().map((file) => parseEntry(file, readFileSync(join(folder, file), 'utf8')))
}

/** The version of a release with these changes, after `version`. Before 1.0.0, a minor version is what a major one is later. */
export function nextVersion(version: string, entries: readonly Pick<ChangeEntry, 'kind'>[]): string {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const has = (...kinds: readonly Kind[]) => entries.some(({ kind }) => kinds.includes(kind))
  if (major > 0 && has('breaking', 'removed')) return `${major + 1}.0.0`
  if (has('breaking', 'removed', 'added', 'deprecated')) return `${major}.${minor + 1}.0`
  return `${major}.${minor}.${patch + 1}`
}

function isKind(value: unknown): value is Kind {
  return typeof value === 'string' && Object.hasOwn(KINDS, value)
}
