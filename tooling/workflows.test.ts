import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const NODE: string = JSON.parse(read('package.json')).devDependencies.node
const FILES = globSync('.github/workflows/*.yml', { cwd: ROOT }).sort()

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>
}

describe.each(FILES)('the workflow %s', (file) => {
  const text = read(file)
  const { permissions, jobs } = parse(text) as Workflow

  it('pins each action by the hash of a commit, and says which version that is', () => {
    const uses = text.split('\n').filter((line) => /\buses:/.test(line))
    expect(uses.length).toBeGreaterThan(0)
    expect(uses.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  it('has no right to write but where a job asks for it', () => {
    expect(Object.values(permissions ?? { all: 'write' }).filter((right) => right !== 'read')).toEqual([])
  })

  it('has no expression in a script: what people write there would run', () => {
    const scripts = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([])
  })
})

it('workflows and the dev container have the version of Node that everything is tested on', () => {
  const images = [...FILES, '.devcontainer/devcontainer.json'].flatMap(
    (file) => read(file).match(/\bnode:[\w.-]+/g) ?? [],
  )
  expect(images.length).toBeGreaterThan(2)
  expect(new Set(images)).toEqual(new Set([`node:${NODE}-bookworm`]))
})

it('what runs on the hosting platform are scripts that run here', () => {
  expect(read('.github/workflows/ci.yml')).toMatch(/- run: \.ci\/run\n/)
  expect(read('.github/workflows/release.yml')).toContain('npm run release -- --assets')
})
