import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  createWriteStream,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { ImageLayout } from '../../sandbox/oci/image-layout.ts'
import { type Entry, layerTar } from '../../sandbox/oci/layer.ts'
import { lockedArchitectures } from '../image/locked-packages.ts'
import { notesOf } from './changelog.ts'
import { checkAssets } from './check-assets.ts'
import { CHANGELOG } from './prepare.ts'
import { versionHere } from './versions.ts'

/** What people check downloads against, with `sha256sum --check`. */
const SUMS = 'SHA256SUMS'
const NOTES = 'NOTES.md'

/**
 * Makes what a release has in `dist/assets` of `root`: the image for each architecture, what is said about it, the manifests with its digest, the
 * packages of npm, the text of the release, and checksums. Returns the name of the image, by digest.
 * @param repository of the image: registry and path
 */
export async function makeAssets(root: string, repository: string): Promise<string> {
  const version = versionHere(root)
  const notes = notesOf(readFileSync(join(root, CHANGELOG), 'utf8'), version)
  if (notes === undefined)
    throw new Error(`${CHANGELOG} has no ${version}: run npm run release, and commit what it makes`)
  const folder = join(root, 'dist/assets')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const run = (script: string, env: object = {}) =>
    execFileSync(process.execPath, [script], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })

  const name = `${repository}:${version}`
  const said = run('tooling/image/main.ts', { OPERATOR_IMAGE: name })
  const [, digest = ''] = /@(sha256:[0-9a-f]{64})\n$/.exec(said) ?? []
  const image = `${name}@${digest}`
  copyFileSync(join(root, 'dist/image.tar'), join(folder, `open-terrain-operator-${version}.oci.tar`))
  await writeStatements(
    await ImageLayout.open(join(root, 'dist/image')),
    digest,
    join(folder, `open-terrain-operator-${version}`),
  )
  for (const file of ['operator.mjs', 'operator.licenses.txt', 'operator.sbom.json'])
    copyFileSync(join(root, 'dist', file), join(folder, file))

  run('infra/synth.ts', { OPERATOR_IMAGE: image })
  const dist = join(root, 'dist')
  copyFileSync(join(dist, 'install.yaml'), join(folder, 'install.yaml'))
  const environments = globSync('Pulumi.*.yaml', { cwd: root }).map((stack) => stack.split('.')[1] ?? '')
  await writeArchive(dist, [...environments, 'release'], join(folder, `open-terrain-manifests-${version}.tar.gz`))
  // The name that Helm gives to it.
  await writeArchive(join(dist, 'chart'), ['open-terrain'], join(folder, `open-terrain-${version}.tgz`))

  run('tooling/pack/main.ts', { OPERATOR_IMAGE: image })
  for (const file of readdirSync(join(root, 'dist/packages')))
    copyFileSync(join(root, 'dist/packages', file), join(folder, file))

  writeFileSync(join(folder, 'IMAGE'), `${image}\n`)
  writeFileSync(join(folder, NOTES), `The image is \`${image}\`.\n\n${notes}\n`)
  writeFileSync(join(folder, SUMS), sums(folder))
  await checkAssets(folder, { version, image, architectures: await lockedArchitectures() })
  return image
}

/** One file for each statement about the image of a platform, for those who have no program that reads them from the image. */
async function writeStatements(layout: ImageLayout, digest: string, beginning: string): Promise<void> {
  const images = await layout.index(digest)
  for (const attached of images.filter(({ annotations }) => annotations !== undefined)) {
    const of = images.find((one) => one.digest === attached.annotations?.['vnd.docker.reference.digest'])
    const { layers } = await layout.manifest(attached.digest)
    for (const layer of layers) {
      const { predicateType, predicate } = JSON.parse(readFileSync(layout.blob(layer.digest), 'utf8'))
      const platform = `${beginning}-${of?.platform?.architecture}`
      if (predicateType === 'https://cyclonedx.org/bom')
        writeFileSync(`${platform}.cdx.json`, `${JSON.stringify(predicate, null, 2)}\n`)
      else copyFileSync(layout.blob(layer.digest), `${platform}.provenance.json`)
    }
  }
}

/** The same files give the same bytes. */
async function writeArchive(root: string, folders: readonly string[], file: string): Promise<void> {
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.*`, { cwd: root })).sort()
  const entries = files.map(
    (path): Entry => ({ type: 'file', path: `/${path}`, mode: 0o644, content: { from: join(root, path) } }),
  )
  await pipeline(layerTar(entries), createGzip(), createWriteStream(file))
}

function sums(folder: string): string {
  // The text is on the page of the release, and not among its files.
  const lines = readdirSync(folder)
    .filter((file) => file !== NOTES)
    .sort()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, file)))
          .digest('hex')}  ${file}\n`,
    )
  return lines.join('')
}
