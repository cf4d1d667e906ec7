import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { describe, expect, it } from 'vitest'
import config from '../../vitest.config.ts'
import { DURATIONS, longOnesFirst } from '../setup/long-ones-first.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Have commands of their own, because they need more than Node and a control plane. */
const APART = ['rollout', 'node'] as const
const FILES = globSync('{constructs,crds-gen,operator,sandbox,test,tooling}/**/*.test.ts', { cwd: ROOT }).filter(
  (file) =>
    !file.includes('node_modules') &&
    !file.startsWith('test/fixtures') &&
    !APART.some((mode) => file.startsWith(`test/${mode}/`)),
)

interface Project {
  readonly test: { readonly name: string; readonly include: readonly string[]; readonly exclude: readonly string[] }
}

/** The projects that run a file, by name. */
function projectsOf(file: string, mode: 'test' | 'deep' | (typeof APART)[number]): string[] {
  const { test } = config({ mode, command: 'serve' }) as { test: { projects: readonly Project[] } }
  const isOf = (globs: readonly string[]) => globs.some((glob) => matchesGlob(file, glob))
  return test.projects
    .filter(({ test: { include, exclude } }) => isOf(include) && !isOf(exclude))
    .map(({ test: { name } }) => name)
}

/** The types in the unions of faults of a simulator. */
function faultsIn(file: string): string[] {
  const source = readFileSync(join(ROOT, 'sandbox/simulators', file), 'utf8')
  return [...source.matchAll(/^ {2}\| \{ readonly type: '(\w+)'/gm)].flatMap(([, type]) => type ?? [])
}

describe('quick and deep tests', () => {
  it.each(FILES)('has one place for %s', (file) => {
    const [quick, deep] = [projectsOf(file, 'test'), projectsOf(file, 'deep')]
    expect([quick.length, deep.length]).toEqual(file.endsWith('.deep.test.ts') ? [0, 1] : [1, 0])
  })

  it.each(APART)('runs tests of test/%s when they are asked for, and nothing else then', (mode) => {
    const files = globSync(`test/${mode}/**/*.test.ts`, { cwd: ROOT })
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) {
      expect([projectsOf(file, 'test'), projectsOf(file, 'deep')]).toEqual([[], []])
      expect(projectsOf(file, mode)).toEqual([mode])
    }
    for (const file of FILES) expect(projectsOf(file, mode)).toEqual([])
  })

  it.each([
    ['faults.ts', 'cdi'],
    ['kubevirt-faults.ts', 'kubevirt'],
    ['workload-faults.ts', 'workloads'],
  ])('names every fault of %s in a quick test that scripts %s', (file, simulator) => {
    const quick = FILES.filter((one) => !one.endsWith('.deep.test.ts'))
    const texts = quick.map((one) => readFileSync(join(ROOT, one), 'utf8'))
    const scripts = texts.filter((text) => text.includes(`${simulator}.script(`)).join('\n')
    const faults = faultsIn(file)
    expect(faults.length).toBeGreaterThan(4)
    expect(faults.filter((type) => !scripts.includes(`'${type}'`))).toEqual([])
  })
})

describe('the order of test files', () => {
  it('goes by times of files that exist', () => {
    const files = Object.keys(DURATIONS)
    expect(files.length).toBeGreaterThan(50)
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
  })

  it('ends with what is short, and keeps the files of a project together', () => {
    const file = (name: string, seconds: number, group = 0) => ({ name, project: name.slice(0, 1), group, seconds })
    const files = [file('a1', 0), file('a2', 30), file('b1', 20), file('b2', 25), file('c1', 0, 1), file('c2', 90, 1)]
    expect(longOnesFirst(files).map(({ name }) => name)).toEqual(['b2', 'b1', 'a2', 'a1', 'c2', 'c1'])
  })
})
