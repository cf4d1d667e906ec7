// Writes how long the test files took, by which runs put them in order (test/setup/long-ones-first.ts), from JSON reports of
// Vitest. Files that no report names keep their time, unless they are gone.
//
//   npm run test:deep -- --reporter=default --reporter=json --outputFile.json=/tmp/deep.json
//   node tooling/record-durations.mjs /tmp/deep.json

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './install.mjs'

const SHORT_MS = 10_000
const FILE = join(root, 'test/setup/durations.json')

const durations = JSON.parse(readFileSync(FILE, 'utf8'))
for (const { name, startTime, endTime } of process.argv.slice(2).flatMap((path) => readJson(path).testResults)) {
  const file = relative(root, name)
  if (file.startsWith('..')) throw new Error(`${name} is of another copy of the repository`)
  const tookMs = endTime - startTime
  if (tookMs < SHORT_MS) delete durations[file]
  else durations[file] = Math.round(tookMs / 1_000)
}
const kept = Object.entries(durations).filter(([file]) => existsSync(join(root, file)))
writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(kept.sort()), null, 2)}\n`)

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
