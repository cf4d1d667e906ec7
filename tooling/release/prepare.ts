import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nextVersion, readEntries } from './change-entries.ts'
import { sectionOf, versionsOf, withSection } from './changelog.ts'
import { upgradeNotes } from './upgrade-notes.ts'
import { setVersion, versionHere } from './versions.ts'

/** The parts of a release that are in the repository. */
export const CHANGELOG = 'CHANGELOG.md'
export const CHANGES = 'changes'

interface Preparation {
  readonly root: string
  /** Such as 2026-11-30. */
  readonly date: string
  /** Default: what follows from the changes. */
  readonly version?: string
}

/**
 * Makes the tree of a release of `root`: its text in CHANGELOG.md, its version at every place, and no entries. Returns the version. Throws an error of one
 * sentence if there is nothing to release, or the version is not newer than the last one.
 */
export async function prepareRelease({ root, date, version }: Preparation): Promise<string> {
  const file = join(root, CHANGELOG)
  const changelog = readFileSync(file, 'utf8')
  const entries = readEntries(join(root, CHANGES))
  if (entries.length === 0) throw new Error(`there is nothing to release: ${CHANGES}/ has no entry`)
  const last = versionHere(root)
  const next = version ?? nextVersion(last, entries)
  if (!isNewer(next, last) || versionsOf(changelog).includes(next))
    throw new Error(`${next} is not newer than ${last}: name a newer version, such as ${nextVersion(last, entries)}`)
  const all = upgradeNotes(readFileSync(join(root, 'docs/installation.md'), 'utf8'))
  const notes = all.filter(({ after }) => after === last)
  writeFileSync(file, await withSection(changelog, sectionOf({ version: next, date, entries, notes }), file))
  setVersion(next, root)
  for (const entry of entries) rmSync(join(root, CHANGES, entry.file))
  return next
}

function isNewer(version: string, other: string): boolean {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is no version: write three numbers, such as 0.2.0`)
  const [a, b] = [version, other].map((one) => one.split('.').map(Number))
  const at = [0, 1, 2].find((part) => a?.[part] !== b?.[part])
  return at !== undefined && (a?.[at] ?? 0) > (b?.[at] ?? 0)
}
