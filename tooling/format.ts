import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const PACKAGES = 'node_modules'

/** Node arguments of what formats Markdown; the flag that decides what it does comes last. Biome formats all else. */
export const MARKDOWN = [
  `${PACKAGES}/prettier/bin/prettier.cjs`,
  ...['*.md', '{changes,constructs,docs,examples,test}/**/*.md', '--log-level=warn'],
]
const COMMANDS = [
  [`${PACKAGES}/@biomejs/biome/bin/biome`, 'check', '--write'],
  [...MARKDOWN, '--write'],
]

if (import.meta.main) {
  const results = COMMANDS.map((args) => spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }).status)
  if (results.some((status) => status !== 0)) process.exitCode = 1
}
