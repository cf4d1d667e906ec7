// Prints which tests failed, and how many passed and failed, from the JSON report of vitest. Fails when there is no test in it.

import { readFileSync } from 'node:fs'

const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
for (const { name, message, assertionResults } of testResults) {
  const failed = assertionResults.filter(({ status }) => status === 'failed')
  const [first] = failed
  // A file that could not be read, or whose set-up failed.
  if (first === undefined && message !== '') process.stdout.write(`failed: ${name}\n  ${firstLineOf(message)}\n`)
  for (const { fullName, failureMessages } of failed)
    process.stdout.write(`failed: ${name} > ${fullName}\n  ${firstLineOf(failureMessages[0])}\n`)
}
process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed\n`)
if (!(numPassedTests > 0) || numFailedTests > 0) process.exitCode = 1

function firstLineOf(text = '') {
  const [line = ''] = text.split('\n')
  return line.slice(0, 300)
}
