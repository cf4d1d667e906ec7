// Makes a release: first its commit, then, from that commit, what people install.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { commandOptions } from '../../sandbox/command-options.ts'
import { checkServed } from '../image/locked-packages.ts'
import { makeAssets } from './assets.ts'
import { prepareRelease } from './prepare.ts'
import { versionHere } from './versions.ts'

const ROOT = join(import.meta.dirname, '../..')
const RELEASE = 'dist/assets'
const USAGE = `npm run release -- [options]

Without options: the tree of a release. CHANGELOG.md gets the entries of changes/ and the rows of the table of
upgrades, and every place gets the version that follows from them. Then commit it, and tag the commit. It is refused
if a package that is locked for the image is no longer served.

  --assets               what a release has, in dist/assets, from a commit that is tagged
  --dry-run              both, in a copy: nothing changes here but dist/assets
  --version X.Y.Z        another version than the one that follows from the changes
  --tag vX.Y.Z           with --assets: fail if this is not the tag of the version of this commit
  --repository NAME      registry and path of the image; default: $OPERATOR_REPOSITORY; without --tag, localhost/open-terrain-operator
`

async function main(): Promise<void> {
  const options = commandOptions(USAGE, {
    assets: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    version: { type: 'string' },
    tag: { type: 'string' },
    repository: { type: 'string' },
  })
  const named = options.repository ?? (process.env['OPERATOR_REPOSITORY'] || undefined)
  const repository = named ?? 'localhost/open-terrain-operator'
  const date = new Date().toISOString().slice(0, 10)
  const version = options.version === undefined ? {} : { version: options.version }
  if (options['dry-run'] === true) return await inCopy({ ...version, date, repository })
  const changed = changedFiles()
  if (changed !== '')
    throw new Error(`these files are not committed, so nobody could make this release again:\n${changed}`)
  if (options.assets === true) {
    const here = versionHere()
    if (options.tag !== undefined && options.tag !== `v${here}`)
      throw new Error(`the tag is ${options.tag}, and the version of this commit ${here}: its tag is v${here}`)
    if (options.tag !== undefined && named === undefined)
      throw new Error('nothing says where the image is published: name registry and path in OPERATOR_REPOSITORY')
    process.stdout.write(`${RELEASE}: ${await makeAssets(ROOT, repository)}\n`)
    return
  }
  if (process.platform === 'linux') await checkServed()
  else process.stderr.write('Whether the packages of the image are still served is only looked for on Linux.\n')
  const next = await prepareRelease({ root: ROOT, date, ...version })
  process.stdout.write(
    `This is the tree of ${next}. Read CHANGELOG.md, run .ci/run, and then:\n\n` +
      `  git add --all && git commit -m "Release ${next}"\n  git tag --sign v${next} -m "Release ${next}"\n  git push --follow-tags\n`,
  )
}

interface DryRun {
  readonly date: string
  readonly version?: string
  readonly repository: string
}

/** Both parts, in a copy that has the same modules at the same places. The image is that of the release but for the commit, which is not there yet: it names none, and has another digest. */
async function inCopy({ repository, ...preparation }: DryRun): Promise<void> {
  const changed = changedFiles()
  if (changed !== '')
    process.stderr.write(`These files are not committed. A release is refused until they are:\n${changed}\n`)
  const copy = join(ROOT, `dist/.release-${process.pid}`)
  try {
    const files = git('ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')
    for (const file of files.filter((one) => one !== '' && existsSync(join(ROOT, one)))) {
      mkdirSync(dirname(join(copy, file)), { recursive: true })
      cpSync(join(ROOT, file), join(copy, file))
    }
    for (const modules of globSync(['node_modules', '*/node_modules'], { cwd: ROOT }))
      linkModules(join(ROOT, modules), join(copy, modules))
    const version = await prepareRelease({ root: copy, ...preparation })
    const image = await makeAssets(copy, repository)
    cpSync(join(copy, 'CHANGELOG.md'), join(copy, RELEASE, 'CHANGELOG.md'))
    rmSync(join(ROOT, RELEASE), { recursive: true, force: true })
    renameSync(join(copy, RELEASE), join(ROOT, RELEASE))
    process.stdout.write(`${version} would have what is in ${RELEASE}, and ${image}\n`)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Hard links, so that packages find each other where they are, and links between workspaces lead into the copy. */
function linkModules(from: string, to: string): void {
  try {
    execFileSync('cp', ['--archive', '--link', from, to], { stdio: 'ignore' })
  } catch {
    rmSync(to, { recursive: true, force: true })
    execFileSync('cp', ['-a', from, to], { stdio: 'ignore' })
  }
}

function changedFiles(): string {
  return git('status', '--porcelain').trimEnd()
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
