import { createReadStream } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { readTar } from '../../sandbox/oci/tar-reader.ts'

interface Release {
  readonly version: string
  /** Registry, repository, tag and digest. */
  readonly image: string
  /** In the words of Debian. */
  readonly architectures: readonly string[]
}

/** Throws an error of one sentence if a folder has not exactly the files of a release, as docs/releases.md lists them, or one names another image. */
export async function checkAssets(folder: string, release: Release): Promise<void> {
  const { image, version } = release
  const [wanted, there] = [filesOf(release), await readdir(folder)]
  const missing = wanted.filter((file) => !there.includes(file))
  if (missing.length > 0) throw new Error(`the release lacks ${missing.join(', ')}`)
  const others = there.filter((file) => !wanted.includes(file))
  if (others.length > 0) throw new Error(`nobody knows these files of the release: ${others.join(', ')}`)

  const manifest = await fileIn(join(folder, `open-terrain-infra-${version}.tgz`), 'package/package.json')
  const says: Readonly<Record<string, string>> = {
    IMAGE: await readFile(join(folder, 'IMAGE'), 'utf8'),
    'install.yaml': await readFile(join(folder, 'install.yaml'), 'utf8'),
    chart: await fileIn(join(folder, `open-terrain-${version}.tgz`), 'open-terrain/values.yaml'),
    manifests: await fileIn(join(folder, `open-terrain-manifests-${version}.tar.gz`), 'release/3-install.yaml'),
    infra: String(JSON.parse(manifest || '{}').operatorImage),
  }
  const silent = Object.keys(says).filter((what) => says[what]?.includes(image) !== true)
  if (silent.length > 0)
    throw new Error(`the image of the release is ${image}, and these do not name it: ${silent.join(', ')}`)
}

function filesOf({ version, architectures }: Release): readonly string[] {
  return [
    'IMAGE',
    'NOTES.md',
    'SHA256SUMS',
    'install.yaml',
    'operator.mjs',
    'operator.licenses.txt',
    'operator.sbom.json',
    `open-terrain-${version}.tgz`,
    `open-terrain-manifests-${version}.tar.gz`,
    ...['constructs', 'infra', 'cli'].map((name) => `open-terrain-${name}-${version}.tgz`),
    `open-terrain-operator-${version}.oci.tar`,
    ...architectures.flatMap((one) =>
      ['cdx', 'provenance'].map((what) => `open-terrain-operator-${version}-${one}.${what}.json`),
    ),
  ]
}

/** Empty if the archive lacks it. */
async function fileIn(archive: string, path: string): Promise<string> {
  let found = ''
  for await (const { header, bytes } of readTar(createReadStream(archive).pipe(createGunzip())))
    if (header.name.replace(/^\.?\//, '') === path) found = bytes.toString()
  return found
}
