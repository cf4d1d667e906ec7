import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { keysText } from './source-credentials.ts'
import { SOURCE_TYPES } from './source-type.ts'

it('the docs list what CDI reads from the Secret of each type of source', async () => {
  const text = await readFile(join(import.meta.dirname, '../../docs/images.md'), 'utf8')
  const told = [...text.matchAll(/^\| `(\w+)` *\| (\w\S+ \(.*\)) *\|$/gm)].map(([, type, keys]) => [type, keys?.trim()])
  expect(told).toEqual(SOURCE_TYPES.filter((type) => keysText(type) !== '').map((type) => [type, keysText(type)]))
})
