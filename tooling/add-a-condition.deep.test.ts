import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changedBy, recipeChanges, recipeOmissions } from './condition-recipe.ts'

// docs/add-a-condition.md, done word for word in a copy of the tree.

const ROOT = join(import.meta.dirname, '..')
const PATHS = [...new Set(recipeChanges().map(({ path }) => path))]
/** What a build or an installation has made. */
const MADE = ['node_modules', 'dist', '.git']

let copy: string

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'open-terrain-condition-'))
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !MADE.includes(basename(path)) })
  const [ours, theirs] = [join(copy, 'node_modules'), join(ROOT, 'node_modules')]
  mkdirSync(join(ours, '@open-terrain'), { recursive: true })
  const packages = readdirSync(theirs).filter((name) => name !== '@open-terrain' && name !== '.cache')
  for (const name of packages) symlinkSync(join(theirs, name), join(ours, name))
  for (const name of readdirSync(join(theirs, '@open-terrain')))
    symlinkSync(join(copy, name), join(ours, '@open-terrain', name))
}, 60_000)

afterAll(() => rmSync(copy, { recursive: true }))

/** Puts the files of the recipe into the copy as they are with its changes, but for those of some files. */
function makeAllBut(...left: readonly string[]): void {
  const texts = new Map<string, string | undefined>()
  for (const path of PATHS)
    texts.set(path, existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : undefined)
  for (const change of recipeChanges())
    if (!left.includes(change.path)) texts.set(change.path, changedBy(change, texts.get(change.path)))
  for (const [path, text] of texts)
    if (text === undefined) rmSync(join(copy, path), { force: true })
    else writeFileSync(join(copy, path), text)
}

/** Runs a program of the copy there. */
function run(...args: readonly string[]) {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', env })
  return { ok: status === 0, output: `${stdout}${stderr}` }
}

const typesOf = (project: string) => run('node_modules/typescript/bin/tsc', '--noEmit', '--project', project)

/** What the table calls types, and a test. The types of the product that the recipe changes are fewer than all. */
const CHECKS = {
  types: () => {
    const include = PATHS.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    writeFileSync(join(copy, 'tsconfig.recipe.json'), JSON.stringify({ extends: './tsconfig.json', include }))
    return typesOf('tsconfig.recipe.json')
  },
  test: (...paths: readonly string[]) => run('node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', ...paths),
}

const ROWS = recipeOmissions()
const isCommand = ({ what }: { readonly what: string }) => what.startsWith('npm ')

it('the recipe, and nothing else, adds a condition', { timeout: 600_000 }, () => {
  makeAllBut()
  expect(typesOf('.')).toEqual({ ok: true, output: '' })
  const code = PATHS.filter((path) => path.endsWith('.ts'))
  expect(run('node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...code)).toMatchObject({
    ok: true,
  })
  const commands = ROWS.filter(isCommand)
  const tests = commands.map(({ fails }) => fails?.path ?? '')
  const failures = tests.map((path) => expect.stringMatching(new RegExp(`FAIL .*${path}`)))
  const { output } = CHECKS.test(...tests)
  expect(failures.map(() => output)).toEqual(failures)
  for (const { what } of commands) {
    const words = what.replace(/^npm (run )?/, '').replace(' --', '')
    expect(run('tooling/run.mjs', ...words.split(' ')), what).toMatchObject({ ok: true })
  }
  expect(CHECKS.test(...tests, 'volume-growing.test.ts')).toMatchObject({ ok: true })
})

it('each file of the recipe is in the table of what fails without it, and that fails', { timeout: 600_000 }, () => {
  const files = ROWS.filter((row) => !isCommand(row))
  expect(files.map(({ what }) => what).toSorted()).toEqual(PATHS.toSorted())
  for (const { what, fails } of files) {
    if (fails === undefined) continue
    makeAllBut(what)
    const { ok, output } = CHECKS[fails.by](fails.path)
    expect([what, ok, output]).toEqual([what, false, expect.stringContaining(fails.path)])
  }
  makeAllBut(...files.filter(({ fails }) => fails === undefined).map(({ what }) => what))
  expect(CHECKS.types()).toEqual({ ok: true, output: '' })
})
