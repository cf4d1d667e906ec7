/**
 * Writes the CRDs and the API reference into `generated/`. With `--check` it only compares: it prints one line for each file that differs, is missing
 * or is left over, and sets exit code 1.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { findDrift } from './drift.ts'
import { generatedFiles } from './generated-files.ts'

const FOLDER = join(import.meta.dirname, 'generated')

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const wanted = generatedFiles()
const drift = findDrift(wanted, presentFiles())

for (const { path, problem } of drift) {
  const shown = relative(process.cwd(), join(FOLDER, path))
  if (values.check) console.error(`${shown} ${problem}`)
  else update(path, shown)
}
if (values.check && drift.length > 0) {
  console.error('run "npm run gen" and commit the result')
  process.exitCode = 1
}

function update(path: string, shown: string): void {
  const content = wanted.get(path)
  if (content === undefined) {
    rmSync(join(FOLDER, path))
    console.log(`removed ${shown}`)
    return
  }
  mkdirSync(dirname(join(FOLDER, path)), { recursive: true })
  writeFileSync(join(FOLDER, path), content)
  console.log(`wrote ${shown}`)
}

function presentFiles(): Map<string, string> {
  mkdirSync(FOLDER, { recursive: true })
  const paths = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  const files = paths.filter((path) => statSync(join(FOLDER, path)).isFile())
  return new Map(files.map((path) => [path.replaceAll('\\', '/'), readFileSync(join(FOLDER, path), 'utf8')]))
}
