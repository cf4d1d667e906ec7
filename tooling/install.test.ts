import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { staleBecause } from './install.mjs'

describe('staleBecause', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'open-terrain-install-'))
    mkdirSync(join(folder, 'node_modules'))
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const wanted = (packages: object) => writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }))
  const installed = (packages: object) =>
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))

  it('asks for an installation where there is none', () => {
    wanted({})
    expect(staleBecause(folder)).toBe('node_modules is missing')
  })

  it.each([
    ['the same version', { version: '1.0.0' }, { version: '1.0.0' }, undefined],
    ['another version', { version: '2.0.0' }, { version: '1.0.0' }, 'zod 2.0.0 is not in node_modules'],
    ['nothing', { version: '1.0.0' }, undefined, 'zod 1.0.0 is not in node_modules'],
    ['nothing of another platform', { version: '1.0.0', optional: true }, undefined, undefined],
    ['a linked workspace', { resolved: 'constructs', link: true }, undefined, undefined],
  ])('judges %s', (_, entry, present, reason) => {
    wanted({ '': {}, 'node_modules/zod': entry })
    installed(present === undefined ? {} : { 'node_modules/zod': present })
    expect(staleBecause(folder)).toBe(reason)
  })
})
