import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import type { Mutant } from './mutant.ts'
import type { Invariant } from './oracle/oracle.ts'
import type { Kind } from './story.ts'

/** Seeds of enough schedules for each mutant; most need one or two. */
const SEEDS = Array.from({ length: 40 }, (_, at) => at + 1)

interface Verdict {
  /** Whether the product used the replacement of the mutant's seam. */
  readonly isUsed: boolean
  /** Seed of the schedule that broke an invariant. This and the next two fields are absent if none did. */
  readonly seed?: number
  readonly invariant?: Invariant
  readonly message?: string
}

/** Runs the schedules of these seeds on the product or a mutant of it. Stops at the first violation. */
async function verdictOn(kind: Kind, seeds: Iterable<number>, mutant?: Mutant): Promise<Verdict> {
  const script = join(import.meta.dirname, 'mutant-process.ts')
  const args = [script, kind, [...seeds].join(), ...(mutant === undefined ? [] : [mutant.name])]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

export function mutantSuite(mutants: readonly Mutant[]): void {
  /** Seeds of the schedules that detected a mutant, by kind. */
  const detecting = new Map<Kind, Set<number>>()

  it.concurrent.each(mutants)('is caught, by invariant $invariant: $name', async (mutant) => {
    const first = mutant.seed === undefined ? [] : [mutant.seed]
    const { isUsed, seed, invariant, message } = await verdictOn(mutant.kind, new Set([...first, ...SEEDS]), mutant)
    expect(isUsed).toBe(true)
    expect([mutant.invariant, ...(mutant.alsoCaughtAs ?? [])], message).toContain(invariant)
    if (seed !== undefined) detecting.set(mutant.kind, (detecting.get(mutant.kind) ?? new Set()).add(seed))
  })

  it('differs from the product, which passes the schedules that detected a mutant', async () => {
    expect(detecting.size).toBeGreaterThan(0)
    const kinds = [...detecting]
    const judgeNext = async (): Promise<void> => {
      for (let next = kinds.pop(); next !== undefined; next = kinds.pop())
        expect(await verdictOn(...next), next[0]).toEqual({ isUsed: true })
    }
    await Promise.all([judgeNext(), judgeNext()])
  })
}
