import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Installation, InstallationProps } from '@open-terrain/constructs/platform'

const ROOT = join(import.meta.dirname, '../..')
/** The packages of the repository, as npm links them into `node_modules`. */
const SCOPE = '@open-terrain'
const PARTS = ['operator', 'constructs', 'examples', 'package.json', 'tsconfig.json']

const run = promisify(execFile)

/** The version that people have. */
export const EARLIER = 'a46df35'

/** Reports whether the history of this checkout has a commit. A copy without history, or a shallow clone, may lack it. */
export async function hasCommit(commit: string): Promise<boolean> {
  return await run('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).then(
    () => true,
    () => false,
  )
}

/** Takes the product of a commit out of the history, with the dependencies of today. Returns the folder, to be removed. */
export async function extractCommit(commit: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'open-terrain-earlier-'))
  const archive = join(folder, 'archive.tar')
  await run('git', ['archive', '--output', archive, commit, ...PARTS], { cwd: ROOT })
  await run('tar', ['-xf', archive, '-C', folder])
  const [installed, packages] = [join(ROOT, 'node_modules'), join(folder, 'node_modules')]
  await mkdir(join(packages, SCOPE), { recursive: true })
  for (const name of await readdir(installed)) {
    if (name !== SCOPE) await symlink(join(installed, name), join(packages, name))
  }
  await symlink(join(folder, 'constructs'), join(packages, SCOPE, 'constructs'))
  return folder
}

/** Builds the operator of a commit. Returns the folder, to be removed, and the path of the bundle. */
export async function buildCommit(commit: string): Promise<{ readonly folder: string; readonly bundle: string }> {
  const folder = await extractCommit(commit)
  await run(process.execPath, [join(folder, 'operator/build.ts')], { cwd: folder })
  return { folder, bundle: join(folder, 'dist/operator.mjs') }
}

/** Returns what `renderInstallation` of a built commit renders. */
export async function renderCommit(folder: string, props: InstallationProps): Promise<Installation> {
  const program = `import { renderInstallation } from './constructs/platform/index.ts'
console.log(JSON.stringify(renderInstallation(JSON.parse(process.argv[1]))))`
  return JSON.parse(await runIn(folder, program, JSON.stringify(props)))
}

/** Runs an ES module in the folder of a commit, or in this checkout. Returns what it prints. */
export async function runIn(folder: string | undefined, program: string, ...args: readonly string[]): Promise<string> {
  const options = { cwd: folder ?? ROOT, maxBuffer: 512 * 1024 * 1024 }
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program, ...args], options)
  return stdout
}
