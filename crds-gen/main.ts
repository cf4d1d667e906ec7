/**
 * Writes the CRDs and the API reference into `generated/`, and the sources of constructs/ that follow from its schemas. With `--check` it only compares: it prints one line for each file that differs, is missing
 * or is left over, and sets exit code 1.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { findDrift } from './drift.ts'
import { generatedFiles, generatedSources } from './generated-files.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = 'crds-gen/generated'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const wanted = new Map([
  ...[...generatedFiles()].map(([path, content]) => [`${FOLDER}/${path}`, content] as const),
  ...generatedSources(),
])
const drift = findDrift(wanted, presentFiles())

for (const { path, problem } of drift) {
  const shown = relative(process.cwd(), join(ROOT, path))
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
    rmSync(join(ROOT, path))
    console.log(`removed ${shown}`)
    return
  }
  mkdirSync(dirname(join(ROOT, path)), { recursive: true })
  writeFileSync(join(ROOT, path), content)
  console.log(`wrote ${shown}`)
}

/** All files in the folder of generated files, and the sources that are to be generated. */
function presentFiles(): Map<string, string> {
  mkdirSync(join(ROOT, FOLDER), { recursive: true })
  const paths = readdirSync(join(ROOT, FOLDER), { recursive: true, encoding: 'utf8' })
  const all = [...paths.map((path) => `${FOLDER}/${path.replaceAll('\\', '/')}`), ...generatedSources().keys()]
  const files = all.filter((path) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile())
  return new Map(files.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}
