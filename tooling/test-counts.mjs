// Prints which tests failed, which were the slowest, and how many passed and failed, from JSON reports of Vitest. Fails if a
// test or a file failed, if an error came outside of all tests, if one of the reports has no passed test, or if there is no
// report. Errors outside of tests are read from <report>.errors, as tooling/unhandled-errors.ts writes them.
//
//   node tooling/test-counts.mjs <report>...

import { existsSync, readFileSync } from 'node:fs'

const SLOWEST = 20
/** Lines printed of the beginning of a failure, and of its end: what was expected comes after the description of what was seen. */
const FIRST_LINES = 12
const LAST_LINES = 8

const paths = process.argv.slice(2)
const reports = paths.map((file) => JSON.parse(readFileSync(file, 'utf8')))
const unhandled = paths
  .map((file) => `${file}.errors`)
  .filter((file) => existsSync(file))
  .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')))
const files = reports.flatMap(({ testResults }) => testResults)
const tests = files.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ ...test, file: name })))

const slowest = tests.toSorted((a, b) => (b.duration ?? 0) - (a.duration ?? 0)).slice(0, SLOWEST)
process.stdout.write(`The slowest ${slowest.length} tests:\n`)
for (const { duration = 0, file, fullName } of slowest)
  process.stdout.write(`${(duration / 1_000).toFixed(1).padStart(8)} s  ${pathIn(file)} > ${fullName}\n`)
process.stdout.write('\n')

const failed = tests.filter(hasFailed)
for (const { fullName, failureMessages } of failed)
  process.stdout.write(`${fullName}\n  ${shortened(failureMessages[0])}\n`)
// Names come last, because the middle of a long output may be left out where it is read.
for (const { file, fullName } of failed) process.stdout.write(`failed: ${file} > ${fullName}\n`)
// Files that could not be loaded, and files whose setup or teardown failed. Vitest counts no failed test for them.
const besides = files.filter((file) => hasFailed(file) && !file.assertionResults.some(hasFailed))
for (const { name, message } of besides)
  process.stdout.write(
    `failed: ${name}\n  ${shortened(message || 'a setup or teardown failed, or a test did not end')}\n`,
  )

for (const text of unhandled) process.stdout.write(`failed: outside of all tests\n  ${text.replaceAll('\n', '\n  ')}\n`)

const sum = (count) => reports.reduce((total, report) => total + report[count], 0)
const failures = sum('numFailedTests')
const outside = besides.length === 0 ? '' : `; files that failed outside their tests: ${besides.length}`
const errors = unhandled.length === 0 ? '' : `; errors outside of all tests: ${unhandled.length}`
process.stdout.write(`${sum('numPassedTests')} passed, ${failures} failed${outside}${errors}\n`)
if (
  failures + besides.length + unhandled.length > 0 ||
  reports.length === 0 ||
  reports.some(({ numPassedTests }) => !(numPassedTests > 0))
)
  process.exitCode = 1

function hasFailed({ status }) {
  return status === 'failed'
}

/** Returns the first and the last lines of a failure, without its stack. */
function shortened(text = '') {
  const lines = text.split('\n').filter((line) => !/^\s+at /.test(line))
  const isLong = lines.length > FIRST_LINES + LAST_LINES
  const kept = isLong ? [...lines.slice(0, FIRST_LINES), '…', ...lines.slice(-LAST_LINES)] : lines
  return kept.map((line) => line.slice(0, 300)).join('\n  ')
}

/** Returns the path inside its repository, wherever that is. */
function pathIn(file) {
  return file.replace(/^.*?\/(?=(cli|constructs|crds-gen|infra|operator|sandbox|test|tooling)\/)/, '')
}
