// Prints which tests failed, which were the slowest, and how many passed and failed, from JSON reports of vitest. Fails when a
// test has failed, or there is none in one of the reports.
//
//   node tooling/test-counts.mjs <report>...

import { readFileSync } from 'node:fs'

const SLOWEST = 20
/** Of what a failed test says: a wait in vain describes what it saw instead. */
const MOST_LINES = 40

const reports = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')))
const files = reports.flatMap(({ testResults }) => testResults)
const tests = files.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ ...test, file: name })))

for (const { name, message, assertionResults } of files) {
  const failed = assertionResults.filter(({ status }) => status === 'failed')
  const [first] = failed
  // A file that could not be read, or whose set-up failed.
  if (first === undefined && message !== '') process.stdout.write(`failed: ${name}\n  ${saidBy(message)}\n`)
  for (const { fullName, failureMessages } of failed)
    process.stdout.write(`failed: ${name} > ${fullName}\n  ${saidBy(failureMessages[0])}\n`)
}

const slowest = tests.toSorted((a, b) => (b.duration ?? 0) - (a.duration ?? 0)).slice(0, SLOWEST)
process.stdout.write(`The slowest ${slowest.length} tests:\n`)
for (const { duration = 0, file, fullName } of slowest)
  process.stdout.write(`${(duration / 1_000).toFixed(1).padStart(8)} s  ${shortened(file)} > ${fullName}\n`)
process.stdout.write('\n')

const sum = (count) => reports.reduce((total, report) => total + report[count], 0)
const failures = sum('numFailedTests')
process.stdout.write(`${sum('numPassedTests')} passed, ${failures} failed\n`)
if (failures > 0 || reports.length === 0 || reports.some(({ numPassedTests }) => !(numPassedTests > 0)))
  process.exitCode = 1

function saidBy(text = '') {
  const lines = text.split('\n').slice(0, MOST_LINES)
  return lines.map((line) => line.slice(0, 300)).join('\n  ')
}

/** The path inside its repository, wherever that is. */
function shortened(file) {
  return file.replace(/^.*?\/(?=(constructs|crds-gen|operator|sandbox|test|tooling)\/)/, '')
}
