import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

it('what CONTRIBUTING.md names for tests to prepare with is where it says', () => {
  const guide = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const section = /^## What tests prepare\n[\s\S]*?(?=^## )/m.exec(guide)?.[0] ?? ''
  const rows = [...section.matchAll(/^\| [^|`]+ \| (`[^|]+`) +\| `([^`]+)` +\|$/gm)]
  expect(rows.length).toBe(section.split('\n').filter((line) => line.startsWith('| ')).length - 2)
  const missing = rows.flatMap(([, names = '', path = '']) => {
    const text = existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : ''
    const isThere = (name: string) =>
      new RegExp(`^export (?:abstract |async )?(?:class|function) ${name}\\b`, 'm').test(text)
    return [...names.matchAll(/`(\w+)`/g)].flatMap(([, name = '']) => (isThere(name) ? [] : [`${name} in ${path}`]))
  })
  expect(missing).toEqual([])
})
