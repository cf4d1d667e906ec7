import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import type { Mutant } from './mutant.ts'
import type { Invariant } from './oracle/oracle.ts'
import type { Kind } from './story.ts'

/** Enough for each mutant; most need one or two. */
const SCHEDULES = 40

interface Verdict {
  /** Whether the product used the replacement of the mutant's seam. */
  readonly isUsed: boolean
  /** Seed of the schedule that broke an invariant. This and the next two fields are absent if none did. */
  readonly seed?: number
  readonly invariant?: Invariant
  readonly message?: string
}

/** Runs this many schedules on the product or a mutant of it. Stops at the first violation. */
async function verdictOn(kind: Kind, schedules: number, mutant?: Mutant): Promise<Verdict> {
  const script = join(import.meta.dirname, 'mutant-process.ts')
  const args = [script, kind, String(schedules), ...(mutant === undefined ? [] : [mutant.name])]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

export function mutantSuite(mutants: readonly Mutant[]): void {
  /** Number of schedules of each kind that were needed. */
  const needed = new Map<Kind, number>()

  it.concurrent.each(mutants)('is caught, by invariant $invariant: $name', async (mutant) => {
    const { isUsed, seed = SCHEDULES, invariant, message } = await verdictOn(mutant.kind, SCHEDULES, mutant)
    expect(isUsed).toBe(true)
    expect([mutant.invariant, ...(mutant.alsoCaughtAs ?? [])], message).toContain(invariant)
    needed.set(mutant.kind, Math.max(needed.get(mutant.kind) ?? 0, seed))
  })

  it('differs from the product, which passes the same schedules', async () => {
    expect(needed.size).toBeGreaterThan(0)
    const kinds = [...needed]
    const judgeNext = async (): Promise<void> => {
      for (let next = kinds.pop(); next !== undefined; next = kinds.pop())
        expect(await verdictOn(...next), next[0]).toEqual({ isUsed: true })
    }
    await Promise.all([judgeNext(), judgeNext()])
  })
}
