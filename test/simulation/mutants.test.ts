import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Mutant } from './mutant.ts'
import { MUTANTS } from './mutants.ts'
import type { Invariant } from './oracle/oracle.ts'
import type { Kind } from './story.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** Enough for each mutant; most need one or two. */
const SCHEDULES = 40
const MINUTE_MS = 60_000

interface Verdict {
  /** Whether the mutated file was used at all. */
  readonly isLoaded: boolean
  /** Of the schedule that showed a violation; these three are absent when none did. */
  readonly seed?: number
  readonly invariant?: Invariant
  readonly message?: string
}

/** Runs so many schedules, or fewer when one shows a violation, on the product or a mutant of it. */
async function verdictOn(kind: Kind, schedules: number, mutant?: Mutant): Promise<Verdict> {
  const script = join(import.meta.dirname, 'mutant-process.ts')
  const args = [script, kind, String(schedules), ...(mutant === undefined ? [] : [mutant.name])]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

it.each(MUTANTS)('$name: a change of one place', ({ file, find, replace }) => {
  const source = readFileSync(join(ROOT, file), 'utf8')
  expect(source.split(find)).toHaveLength(2)
  expect(replace).not.toBe(find)
})

it('has a mutant for every invariant', () => {
  expect(new Set(MUTANTS.map(({ invariant }) => invariant))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]))
})

describe('a mutant', { timeout: 5 * MINUTE_MS }, () => {
  /** Schedules of each kind that were needed. */
  const needed = new Map<Kind, number>()

  it.concurrent.each(MUTANTS)('is caught, by invariant $invariant: $name', async (mutant) => {
    const { isLoaded, seed = SCHEDULES, invariant, message } = await verdictOn(mutant.kind, SCHEDULES, mutant)
    expect(isLoaded).toBe(true)
    expect([mutant.invariant, ...(mutant.alsoCaughtAs ?? [])], message).toContain(invariant)
    needed.set(mutant.kind, Math.max(needed.get(mutant.kind) ?? 0, seed))
  })

  it('differs from the product, which passes the same schedules', async () => {
    expect(needed.size).toBeGreaterThan(0)
    for (const [kind, schedules] of needed) expect(await verdictOn(kind, schedules), kind).toEqual({ isLoaded: true })
  })
})
