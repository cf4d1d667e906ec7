import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

interface File {
  readonly name: string
  readonly status: 'passed' | 'failed'
  readonly message: string
  readonly assertionResults: readonly { readonly status: string; readonly [field: string]: unknown }[]
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-counts-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs the script with reports as Vitest writes them. */
function counted(...reports: readonly (readonly File[])[]) {
  const paths = reports.map((testResults, at) => {
    const path = join(folder, `${at}.json`)
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
    const count = (wanted: string) => tests.filter(({ status }) => status === wanted).length
    writeFileSync(
      path,
      JSON.stringify({ testResults, numPassedTests: count('passed'), numFailedTests: count('failed') }),
    )
    return path
  })
  const script = join(import.meta.dirname, 'test-counts.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...paths], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return { status, lines: stdout.split('\n') }
}

const test = (status: string) => ({ status, fullName: `one ${status}`, duration: 1, failureMessages: ['why'] })
const PASSED: File = {
  name: '/a/infra/good.test.ts',
  status: 'passed',
  message: '',
  assertionResults: [test('passed')],
}
const BAD: File = { ...PASSED, name: '/a/infra/bad.test.ts', status: 'failed' }

it.each<[what: string, files: readonly File[], status: number, last: string, failed: readonly string[]]>([
  ['all pass', [PASSED], 0, '1 passed, 0 failed', []],
  [
    'a test fails',
    [PASSED, { ...BAD, assertionResults: [test('passed'), test('failed')] }],
    1,
    '2 passed, 1 failed',
    ['failed: /a/infra/bad.test.ts > one failed'],
  ],
  [
    'a file cannot be loaded',
    [PASSED, { ...BAD, message: 'Cannot find package', assertionResults: [] }],
    1,
    '1 passed, 0 failed; files that failed outside their tests: 1',
    ['failed: /a/infra/bad.test.ts'],
  ],
  [
    'the setup of a group of tests fails',
    [PASSED, { ...BAD, assertionResults: [test('skipped')] }, { ...BAD, assertionResults: [test('pending')] }],
    1,
    '1 passed, 0 failed; files that failed outside their tests: 2',
    ['failed: /a/infra/bad.test.ts', 'failed: /a/infra/bad.test.ts'],
  ],
  [
    'what follows the tests fails',
    [{ ...BAD, message: 'teardown' }],
    1,
    '1 passed, 0 failed; files that failed outside their tests: 1',
    ['failed: /a/infra/bad.test.ts'],
  ],
  ['nothing passes', [{ ...PASSED, assertionResults: [test('skipped')] }], 1, '0 passed, 0 failed', []],
])('says so if %s', (_what, files, status, last, failed) => {
  const found = counted(files)
  expect([found.status, found.lines.at(-2)]).toEqual([status, last])
  expect(found.lines.filter((line) => line.startsWith('failed: '))).toEqual(failed)
})

it('fails without a report, and if one of several has no passed test', () => {
  expect([counted().status, counted([PASSED], []).status]).toEqual([1, 1])
})

it('fails with what came outside of all tests', () => {
  writeFileSync(join(folder, '0.json.errors'), JSON.stringify(['Unhandled Rejection: gone\n    at a.ts:1:1']))
  const { status, lines } = counted([PASSED])
  expect([status, ...lines.slice(-5)]).toEqual([
    1,
    'failed: outside of all tests',
    '  Unhandled Rejection: gone',
    '      at a.ts:1:1',
    '1 passed, 0 failed; errors outside of all tests: 1',
    '',
  ])
})

it('prints the beginning of a long failure and what was expected, and names it after that', () => {
  const seen = Array.from({ length: 60 }, (_, at) => `line ${at}`)
  const failure = [...seen, 'expected 1 to be 2', '    at file.ts:1:1'].join('\n')
  const { lines } = counted([{ ...BAD, assertionResults: [{ ...test('failed'), failureMessages: [failure] }] }])
  const from = lines.indexOf('one failed')
  expect(lines.slice(from, from + 3)).toEqual(['one failed', '  line 0', '  line 1'])
  expect(lines.slice(-5)).toEqual([
    '  line 59',
    '  expected 1 to be 2',
    'failed: /a/infra/bad.test.ts > one failed',
    '0 passed, 1 failed',
    '',
  ])
})

it('names the slowest tests by their paths inside the repository', () => {
  const folders = globSync('*/**/*.test.ts', { cwd: ROOT, exclude: ['node_modules/**'] })
  const paths = [...new Map(folders.map((path) => [path.split('/')[0], path])).values()]
  const { lines } = counted(paths.map((path) => ({ ...PASSED, name: join('/tmp/copy', path) })))
  expect(lines.filter((line) => line.includes(' s  ')).map((line) => line.split('  ').at(-1))).toEqual(
    paths.map((path) => `${path} > one passed`),
  )
})
