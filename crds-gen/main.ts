/**
 * Writes the CRDs, the API reference and the reports on the package of constructs into `generated/`, and the sources of constructs/ that follow from its schemas. With `--check` it only compares: it prints one line for each file that differs, is missing
 * or is left over, and sets exit code 1.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { apiReports } from './api-reports.ts'
import { authoringPages } from './authoring-reference.ts'
import { withDeclarations } from './declarations.ts'
import { findDrift } from './drift.ts'
import { generatedFiles, generatedSources } from './generated-files.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(import.meta.dirname, 'generated')
/** The reference of authors, a page for each construct. */
const PAGES = join(ROOT, 'docs/constructs')

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const isClean = [
  bring(generatedSources()),
  // After the sources, which the reports are about.
  bringFolder(FOLDER, new Map([...generatedFiles(), ...withDeclarations(apiReports)])),
  bringFolder(PAGES, authoringPages()),
].every((clean) => clean)
if (values.check && !isClean) {
  console.error('run "npm run gen" and commit the result')
  process.exitCode = 1
}

/** Brings a folder to what it should have, and removes the rest. */
function bringFolder(folder: string, wanted: ReadonlyMap<string, string>): boolean {
  mkdirSync(folder, { recursive: true })
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = paths.filter((path) => statSync(join(folder, path)).isFile()).map((path) => path.replaceAll('\\', '/'))
  return bring(wanted, folder, files)
}

/** Brings files to what they should have, or says that they have not. Returns whether nothing had to be done. */
function bring(wanted: ReadonlyMap<string, string>, folder = ROOT, paths = [...wanted.keys()]): boolean {
  const files = paths.filter((path) => existsSync(join(folder, path)))
  const present = new Map(files.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
  const drift = findDrift(wanted, present)
  for (const { path, problem } of drift) {
    if (values.check) console.error(`${relative(process.cwd(), join(folder, path))} ${problem}`)
    else update(join(folder, path), wanted.get(path))
  }
  return drift.length === 0
}

function update(path: string, content: string | undefined): void {
  const shown = relative(process.cwd(), path)
  if (content === undefined) {
    rmSync(path)
    console.log(`removed ${shown}`)
    return
  }
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  console.log(`wrote ${shown}`)
}
