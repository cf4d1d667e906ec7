// Lints the shell scripts of the repository, and the workflows of the platform that hosts it.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { findings, resolveLinters, shellScripts } from './linters.ts'

const ROOT = join(import.meta.dirname, '../..')

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
}).split('\0')
// Scripts have a name that ends in .sh, or none that ends in anything.
const candidates = listed.filter((file) => /(?:^|\/)[^./]+(?:\.sh)?$/.test(file))
try {
  const linters = await resolveLinters((line) => process.stderr.write(`${line}\n`))
  process.chdir(ROOT)
  const scripts = await shellScripts(candidates)
  const workflows = listed.filter((file) => /^\.github\/workflows\/.+\.yml$/.test(file))
  const found = await findings(linters, { scripts, workflows })
  process.stdout.write(found === '' ? `${[...scripts, ...workflows].join(', ')}: nothing found\n` : found)
  if (found !== '') process.exitCode = 1
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
