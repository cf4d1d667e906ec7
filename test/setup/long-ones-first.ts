import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const ROOT = join(import.meta.dirname, '../..')

/**
 * Seconds that test files took beside others, by path from the root of the repository. Files that took less than ten are
 * left out. `tooling/record-durations.mjs` writes them.
 */
export const DURATIONS: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'durations.json'), 'utf8'),
)

interface Queued {
  readonly project: string
  /** The order of its project. All files of a number end before those of the next one begin. */
  readonly group: number
  readonly seconds: number
}

/**
 * Returns the files of each project together, because a worker and its cluster serve the files of one project. Projects
 * whose files are long on average come first, and in each the longest file, so that nothing long is the last, with
 * nothing beside it.
 */
export function longOnesFirst<T extends Queued>(files: readonly T[]): T[] {
  const average = new Map<string, number>()
  for (const [project, own = []] of Map.groupBy(files, ({ project }) => project))
    average.set(project, own.reduce((sum, { seconds }) => sum + seconds, 0) / own.length)
  const averageOf = ({ project }: T) => average.get(project) ?? 0
  return files.toSorted(
    (a, b) =>
      a.group - b.group ||
      averageOf(b) - averageOf(a) ||
      a.project.localeCompare(b.project, 'en') ||
      b.seconds - a.seconds,
  )
}

/** Vitest begins with the largest files, and some that are short to read take minutes. */
export class LongOnesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).map((file) => ({
      file,
      project: file.project.name,
      group: file.project.config.sequence.groupOrder,
      seconds: DURATIONS[relative(ROOT, file.moduleId)] ?? 0,
    }))
    return longOnesFirst(sorted).map(({ file }) => file)
  }
}
