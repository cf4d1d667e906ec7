import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Installation, InstallationProps } from '@open-terrain/constructs/platform'

const ROOT = join(import.meta.dirname, '../..')
/** The packages of the repository, as npm links them into `node_modules`. */
const SCOPE = '@open-terrain'
const PARTS = ['operator', 'constructs', 'package.json', 'tsconfig.json']

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

/** Builds the operator of a commit, with the dependencies of today. Returns the folder, to be removed, and the path of the bundle. */
export async function buildCommit(commit: string): Promise<{ readonly folder: string; readonly bundle: string }> {
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
  await run(process.execPath, [join(folder, 'operator/build.ts')], { cwd: folder })
  return { folder, bundle: join(folder, 'dist/operator.mjs') }
}

/** Returns what `renderInstallation` of a built commit renders. */
export async function renderCommit(folder: string, props: InstallationProps): Promise<Installation> {
  const program = `import { renderInstallation } from ${JSON.stringify(join(folder, 'constructs/platform/index.ts'))}
console.log(JSON.stringify(renderInstallation(JSON.parse(process.argv[1]))))`
  const args = ['--input-type=module', '--eval', program, JSON.stringify(props)]
  const { stdout } = await run(process.execPath, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(stdout)
}
