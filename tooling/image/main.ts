// Makes an image of the operator without a container engine, from the bundle and locked packages: an OCI image layout in dist/image, and the same
// as one file, dist/image.tar.

import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { commandOptions } from '../../sandbox/command-options.ts'
import { ImageLayout } from '../../sandbox/oci/image-layout.ts'
import { writeSbom } from '../sbom.ts'
import { renewLock } from './locked-packages.ts'
import { addOperatorImage } from './operator-image.ts'

const ROOT = join(import.meta.dirname, '../..')
const SBOM = 'dist/operator.sbom.json'
const FILES = ['dist/operator.mjs', 'dist/operator.mjs.LEGAL.txt', 'dist/operator.licenses.txt', SBOM, 'LICENSE']
/** Registry, repository and tag. */
const NAME = /^[a-z0-9.-]+(?::\d+)?(?:\/[a-z0-9._-]+)+:\w[\w.-]*$/i
const USAGE = `npm run image -- [options]

Makes an image of the operator for linux/amd64 and linux/arm64: dist/image (an OCI image layout) and dist/image.tar
(the same as one file). Prints its name and digest. The name is $OPERATOR_IMAGE, or
localhost/open-terrain-operator:<version>. The image names the commit if no file differs from it.

  --architecture NAME   only amd64 or arm64
  --renew-lock          lock the newest packages of Debian and Node's version of package.json, and make no image
`

async function main(): Promise<void> {
  const options = commandOptions(USAGE, { 'renew-lock': { type: 'boolean' }, architecture: { type: 'string' } })
  const { version, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  if (options['renew-lock'] === true) {
    await renewLock(devDependencies.node)
    process.stdout.write('tooling/image/packages.lock.json has the newest packages\n')
    return
  }

  const name = process.env['OPERATOR_IMAGE'] || `localhost/open-terrain-operator:${version}`
  if (!NAME.test(name))
    throw new Error(
      `OPERATOR_IMAGE is ${name}: write registry, repository and tag, such as registry.example/open-terrain-operator:${version}; the digest follows from what is in the image`,
    )
  await import('../../operator/build.ts')
  writeSbom()
  const files = FILES.map((file) => join(ROOT, file))
  const [folder, draft] = [join(ROOT, 'dist/image'), join(ROOT, `dist/image.${process.pid}`)]
  try {
    const layout = await ImageLayout.open(draft)
    const { architecture } = options
    const { digest } = await addOperatorImage(layout, {
      name,
      revision: revisionHere(),
      files,
      sbom: JSON.parse(readFileSync(join(ROOT, SBOM), 'utf8')),
      ...(typeof architecture === 'string' && { architectures: [architecture] }),
    })
    await layout.writeArchive(`${folder}.tar`)
    rmSync(folder, { recursive: true, force: true })
    renameSync(draft, folder)
    process.stdout.write(`${name}@${digest}\n`)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** The commit. Undefined where files differ from it, or without git: what is made is of no commit then. */
function revisionHere(): string | undefined {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    // A copy within another repository, such as that of a dry run, is none itself.
    const isRepository = git('rev-parse', '--show-prefix') === ''
    if (isRepository && git('status', '--porcelain') === '') return git('rev-parse', 'HEAD')
    process.stderr.write('The image names no commit: files here are not committed.\n')
  } catch {
    process.stderr.write('The image names no commit: this is no repository of git.\n')
  }
  return undefined
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
