import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
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
    // Beyond the largest process id that any system gives.
    writeFileSync(join(folder, 'owner'), `2147483646 ${hostname()}`)
    const release = await holdLock(folder, () => {
      throw new Error('must not wait')
    })
    await release()
  })
})
