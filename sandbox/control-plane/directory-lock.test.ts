import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { holdLock } from './directory-lock.ts'

describe('holdLock', () => {
  let folder: string

  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'open-terrain-lock-')), 'lock')
  })

  afterEach(() => rmSync(join(folder, '..'), { recursive: true }))

  it('lets the next one in when the first lets go', async () => {
    const order: string[] = []
    const release = await holdLock(folder, () => order.push('never waits'))
    const second = holdLock(folder, () => {
      order.push('waits')
      void release()
    })
    await (await second)()
    expect(order).toEqual(['waits'])
    expect(existsSync(folder)).toBe(false)
  })

  it('takes over from a process that died', async () => {
    mkdirSync(folder)
    // Larger than any process ID that a system assigns.
    writeFileSync(join(folder, 'owner'), `2147483646 ${hostname()}`)
    const release = await holdLock(folder, () => {
      throw new Error('must not wait')
    })
    await release()
  })

  it('takes over from a process of another machine, or container, that does not touch it any more', async () => {
    mkdirSync(folder)
    // This process ID exists here.
    writeFileSync(join(folder, 'owner'), `${process.pid} another-machine`)
    const longAgo = new Date(Date.now() - 120_000)
    utimesSync(folder, longAgo, longAgo)
    const release = await holdLock(folder, () => {
      throw new Error('must not wait')
    })
    await release()
  })

  it('waits for a process of another machine that touches it', async () => {
    mkdirSync(folder)
    writeFileSync(join(folder, 'owner'), '2147483646 another-machine')
    let hasWaited = false
    const release = await holdLock(folder, () => {
      hasWaited = true
      rmSync(folder, { recursive: true })
    })
    expect(hasWaited).toBe(true)
    await release()
  })

  it('touches the lock for as long as it is held', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const release = await holdLock(folder, () => undefined)
      const longAgo = new Date(Date.now() - 120_000)
      utimesSync(folder, longAgo, longAgo)
      vi.advanceTimersByTime(60_000)
      await expect.poll(() => Date.now() - statSync(folder).mtimeMs).toBeLessThan(60_000)
      await release()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})
