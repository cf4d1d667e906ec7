import { format, resolveConfig } from 'prettier'
import { type ChangeEntry, KINDS } from './change-entries.ts'
import type { UpgradeNote } from './upgrade-notes.ts'

const LINK = /\[([^\]]+)\]\([^)\s]+\)/g
const SECTION = /^## (?<version>\d+\.\d+\.\d+)\b.*$/gm

export interface ReleaseSection {
  readonly version: string
  /** Such as 2026-11-30. */
  readonly date: string
  readonly entries: readonly ChangeEntry[]
  /** What behaves differently since the release before. */
  readonly notes: readonly UpgradeNote[]
}

/** Returns the text of a release, as it is in CHANGELOG.md. */
export function sectionOf({ version, date, entries, notes }: ReleaseSection): string {
  const parts = Object.entries(KINDS).flatMap(([kind, title]) => {
    const texts = entries.filter((entry) => entry.kind === kind).map(({ text }) => text)
    return texts.length === 0 ? [] : [`### ${title}`, texts.map(item).join('\n')]
  })
  const upgrade = notes.map(({ what, toDo }) => item(plain(`${withStop(what)} **To do:** ${withStop(toDo)}`)))
  const before = upgrade.length === 0 ? [] : ['### Before you upgrade', upgrade.join('\n')]
  return [`## ${version} (${date})`, ...before, ...parts].join('\n\n')
}

/** Puts the text of a release before those of earlier ones, in the format of the repository. */
export async function withSection(changelog: string, section: string, file: string): Promise<string> {
  const at = changelog.search(SECTION)
  const [head, earlier] = at < 0 ? [changelog, ''] : [changelog.slice(0, at), changelog.slice(at)]
  return await format(`${head.trimEnd()}\n\n${section}\n\n${earlier}`, {
    ...(await resolveConfig(file)),
    parser: 'markdown',
  })
}

/** The versions that a changelog has, the newest first. */
export function versionsOf(changelog: string): readonly string[] {
  return [...changelog.matchAll(SECTION)].map(({ groups }) => groups?.['version'] ?? '')
}

/** The text of a release without its title, or undefined if there is none. */
export function notesOf(changelog: string, version: string): string | undefined {
  const sections = [...changelog.matchAll(SECTION)]
  const at = sections.findIndex(({ groups }) => groups?.['version'] === version)
  const found = sections[at]
  if (found === undefined) return undefined
  return changelog.slice(found.index + found[0].length, sections[at + 1]?.index).trim()
}

function item(text: string): string {
  return `- ${text.replaceAll('\n', '\n  ')}`
}

/** Pages change, and links out of old texts would lead nowhere. */
function plain(text: string): string {
  return text.replace(LINK, '$1')
}

function withStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
