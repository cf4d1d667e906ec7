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
import ts from 'typescript'
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

/** Runs tests of the copy in one worker, which loads what they share once. */
const testsOf = (...paths: readonly string[]) =>
  run('node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--no-file-parallelism', ...paths)

/** Returns a function that says what is wrong with the types of some files of the copy. Only what the recipe changes is read each time. */
function typesOfFiles(): (...paths: readonly string[]) => string[] {
  const config = ts.readConfigFile(join(copy, 'tsconfig.json'), ts.sys.readFile).config
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, copy)
  const roots = PATHS.filter(isCode).map((path) => join(copy, path))
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  const kept = new Map<string, ts.SourceFile | undefined>()
  host.getSourceFile = (name, ...how) => {
    if (roots.includes(name)) return read(name, ...how)
    if (!kept.has(name)) kept.set(name, read(name, ...how))
    return kept.get(name)
  }
  let program: ts.Program | undefined
  return (...paths) => {
    program = ts.createProgram(roots, { ...options, incremental: false }, host, program)
    const names = paths.map((path) => join(copy, path))
    const files = program.getSourceFiles().filter(({ fileName }) => names.includes(fileName))
    return files
      .flatMap((file) => program?.getSemanticDiagnostics(file) ?? [])
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
  }
}

const ROWS = recipeOmissions()
const isCommand = ({ what }: { readonly what: string }) => what.startsWith('npm ')
/** Of the product: what its types depend on. */
const isCode = (path: string) => path.endsWith('.ts') && !path.endsWith('.test.ts')

it('the recipe, and nothing else, adds a condition', { timeout: 600_000 }, () => {
  makeAllBut()
  // Nobody goes on where it has ended.
  const once = ['--noEmit', '--incremental', 'false', '--tsBuildInfoFile', 'null']
  expect(run('node_modules/typescript-7/bin/tsc', ...once)).toEqual({ ok: true, output: '' })
  const code = PATHS.filter((path) => path.endsWith('.ts'))
  expect(run('node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...code)).toMatchObject({
    ok: true,
  })
  const commands = ROWS.filter(isCommand)
  const tests = commands.map(({ fails }) => fails?.path ?? '')
  const failures = tests.map((path) => expect.stringMatching(new RegExp(`FAIL .*${path}`)))
  const { output } = testsOf(...tests)
  expect(failures.map(() => output)).toEqual(failures)
  for (const { what } of commands) {
    const words = what.replace(/^npm (run )?/, '').replace(' --', '')
    expect(run('tooling/run.mjs', ...words.split(' ')), what).toMatchObject({ ok: true })
  }
  expect(testsOf(...tests, 'volume-growing.test.ts')).toMatchObject({ ok: true })
})

it('each file of the recipe is in the table of what fails without it, and that fails', { timeout: 600_000 }, () => {
  const files = ROWS.filter((row) => !isCommand(row))
  expect(files.map(({ what }) => what).toSorted()).toEqual(PATHS.toSorted())
  const failing = files.flatMap(({ what, fails }) => (fails === undefined ? [] : { what, ...fails }))
  // The others are pages and tests, which no code depends on.
  expect(failing.map(({ what, by }) => [what, by])).toEqual(PATHS.filter(isCode).map((path) => [path, 'types']))
  const typesOf = typesOfFiles()
  makeAllBut()
  expect(typesOf(...failing.map(({ path }) => path))).toEqual([])
  for (const { what, path } of failing) {
    makeAllBut(what)
    expect([what, typesOf(path)]).toEqual([what, expect.arrayContaining([expect.anything()])])
  }
})
