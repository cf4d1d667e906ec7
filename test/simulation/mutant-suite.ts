import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Mutant } from './mutant.ts'
import type { Invariant } from './oracle/oracle.ts'
import { type Kind, storyOf } from './story.ts'
import { runStory } from './story-run.ts'

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

/** What Node has compiled, for the processes that come after the first: to load the product is most of what they do. */
let compiled = ''

/** Runs the schedules of these seeds on a mutant of the product, in a process of its own. Stops at the first violation. */
async function verdictOn({ kind, name }: Mutant, seeds: Iterable<number>): Promise<Verdict> {
  const script = join(import.meta.dirname, 'mutant-process.ts')
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled }
  const { stdout } = await promisify(execFile)(process.execPath, [script, kind, [...seeds].join(), name], { env })
  return JSON.parse(stdout)
}

export function mutantSuite(mutants: readonly Mutant[]): void {
  /** Seeds of the schedules that detected a mutant, by kind. */
  const detecting = new Map<Kind, Set<number>>()

  beforeAll(() => {
    compiled = mkdtempSync(join(tmpdir(), 'open-terrain-compiled-'))
  })
  afterAll(() => rmSync(compiled, { recursive: true, force: true }))

  it.concurrent.each(mutants)('is caught, by invariant $invariant: $name', async (mutant) => {
    const first = mutant.seed === undefined ? [] : [mutant.seed]
    const { isUsed, seed, invariant, message } = await verdictOn(mutant, new Set([...first, ...SEEDS]))
    expect(isUsed).toBe(true)
    expect([mutant.invariant, ...(mutant.alsoCaughtAs ?? [])], message).toContain(invariant)
    if (seed !== undefined) detecting.set(mutant.kind, (detecting.get(mutant.kind) ?? new Set()).add(seed))
  })

  it('differs from the product, which passes the schedules that detected a mutant', async () => {
    expect(detecting.size).toBeGreaterThan(0)
    for (const [kind, seeds] of detecting)
      for (const seed of seeds) {
        const { violations } = await runStory(storyOf(`${kind}:${seed}`))
        expect(violations, `${kind}:${seed}`).toEqual([])
      }
  })
}
