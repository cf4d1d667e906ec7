/**
 * Makes the packages that people install, as files for `npm publish` or `npm install`, in dist/packages: the constructs, the Pulumi components and `ot`.
 *
 *   npm run pack
 *
 * The environment variable `OPERATOR_IMAGE` names the container image of the operator that is released with them, by digest: the default of the Pulumi
 * components. Without it they have none.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { imageProblem } from '../../infra/image-reference.ts'
import { buildLibrary, manifestOf, writeManifest } from './library.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGES = join(ROOT, 'dist/packages')
const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** `ot` is one file, which needs nothing but Node. */
async function buildCommandLine(): Promise<string> {
  const dist = join(ROOT, 'cli/dist')
  await import('../../cli/build.ts')
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist)
  for (const file of ['ot.mjs', 'ot.mjs.LEGAL.txt', 'ot.licenses.txt'])
    copyFileSync(join(ROOT, 'dist', file), join(dist, file))
  chmodSync(join(dist, 'ot.mjs'), 0o755)
  const {
    private: _private,
    dependencies: _bundled,
    ...manifest
  } = manifestOf('cli') as ReturnType<typeof manifestOf> & { private?: boolean }
  // As a plug-in of kubectl too.
  const bin = { ot: 'ot.mjs', 'kubectl-ot': 'ot.mjs' }
  writeManifest('cli', { ...manifest, bin, publishConfig: { access: 'public' } })
  return dist
}

/** A shell turns a variable that is not set into an empty one. */
const operatorImage = process.env['OPERATOR_IMAGE'] || undefined
const problem = operatorImage === undefined ? undefined : imageProblem(operatorImage)
if (problem !== undefined) throw new Error(`OPERATOR_IMAGE: ${JSON.stringify(operatorImage)} ${problem}`)

rmSync(PACKAGES, { recursive: true, force: true })
mkdirSync(PACKAGES, { recursive: true })
const folders = [
  await buildLibrary({ folder: 'constructs', closed: ['./operator'] }),
  await buildLibrary({
    folder: 'infra',
    ...(operatorImage !== undefined && { more: { operatorImage } }),
    dependencies: {
      // Only the program, its tools and its policy pack need these.
      '@pulumi/policy': undefined,
      yaml: undefined,
      // The last that runs on Node 20. Of it, only what reads a kubeconfig is used.
      '@kubernetes/client-node': '^1.4.0',
    },
  }),
  await buildCommandLine(),
]
const packed = execFileSync(NPM, ['pack', '--json', '--pack-destination', PACKAGES, ...folders], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
})
for (const { filename } of JSON.parse(packed) as { filename: string }[]) console.log(join(PACKAGES, filename))
