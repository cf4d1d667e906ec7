import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { lock } from './install.mjs'

const files = vi.hoisted(() => ({ onOperation: () => {} }))
vi.mock('node:fs', async (importOriginal) => {
  const real = Object.entries(await importOriginal<Record<string, (...args: unknown[]) => unknown>>())
  const watched = real.map(([name, operate]) => {
    const reported = (...args: unknown[]) => {
      files.onOperation()
      return operate(...args)
    }
    return [name, name.endsWith('Sync') ? reported : operate]
  })
  return Object.fromEntries(watched)
})

const OPERATIONS = Array.from({ length: 12 }, (_none, at) => at + 1)
/** Longer than a dozen waits of a process for its turn. */
const LONG_MS = 5_000

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-lock-'))
  path = join(folder, 'lock')
  vi.useFakeTimers()
})
afterEach(() => {
  files.onOperation = () => {}
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

/** Acts just before the nth file operation from now on. */
function beforeOperation(nth: number, act: () => void): void {
  let count = 0
  files.onOperation = () => {
    count += 1
    if (count === nth) act()
  }
}

/** A process that takes the lock, and dies before its nth file operation, or while it holds the lock. */
function dieBeforeOperation(nth: number): void {
  const module = JSON.stringify(join(import.meta.dirname, 'install.mjs'))
  const script = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { lock } = await import(${module})
    let count = 0
    for (const [name, operate] of Object.entries(fs))
      if (name.endsWith('Sync')) fs[name] = (...args) => (++count === ${nth} ? process.exit() : operate(...args))
    syncBuiltinESMExports()
    await lock(${JSON.stringify(path)})`
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stderr).toBe('')
}

it.each(OPERATIONS)(
  'a lock whose owner is dead goes to one at a time, if another comes before file operation %i',
  async (nth) => {
    dieBeforeOperation(Number.POSITIVE_INFINITY)
    expect(readdirSync(folder)).toEqual(['lock'])
    const releases: (() => void)[] = []
    const take = async () => {
      releases.push(await lock(path))
    }
    beforeOperation(nth, () => void take())
    void take()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    expect(releases).toHaveLength(1)
    releases[0]?.()
    await vi.advanceTimersByTimeAsync(LONG_MS)
    for (const release of releases.slice(1)) release()
    expect(readdirSync(folder)).toEqual([])
  },
)

it.each(OPERATIONS)('a lock is taken if its owner releases it before file operation %i', async (nth) => {
  const release = await lock(path)
  beforeOperation(nth, release)
  const [next] = await Promise.all([lock(path), vi.advanceTimersByTimeAsync(LONG_MS)])
  next()
  expect(readdirSync(folder)).toEqual([])
})

it.each(OPERATIONS)(
  'a process that dies before its file operation %i leaves nothing that blocks others',
  async (nth) => {
    dieBeforeOperation(Number.POSITIVE_INFINITY)
    dieBeforeOperation(nth)
    const [release] = await Promise.all([lock(path), vi.advanceTimersByTimeAsync(LONG_MS)])
    release()
    expect(readdirSync(folder)).not.toContain('lock')
  },
)
