// Prints how many tests passed and failed, from the JSON report of vitest. Fails when there is no test in it.

import { readFileSync } from 'node:fs'

const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed\n`)
if (!(numPassedTests > 0) || numFailedTests > 0) process.exitCode = 1
