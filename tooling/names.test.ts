import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|class|interface|type|const) (\w+)/gm

function filesByName(): Map<string, Set<string>> {
  const files = new Map<string, Set<string>>()
  const isProduct = (file: string) => !/\.test\.ts$|node_modules|\/dist\//.test(file)
  const product = globSync('{cli,operator,constructs,infra,crds-gen}/**/*.ts', { cwd: ROOT }).filter(isProduct)
  for (const file of product) {
    for (const [, name = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(EXPORT))
      files.set(name, (files.get(name) ?? new Set()).add(file))
  }
  return files
}

it('no two things that modules of the product export share a name', () => {
  const names = [...filesByName()]
  expect(names.length).toBeGreaterThan(500)
  expect(names.filter(([, files]) => files.size > 1)).toEqual([])
})
