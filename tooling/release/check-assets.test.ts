import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { layerTar } from '../../sandbox/oci/layer.ts'
import { checkAssets } from './check-assets.ts'

const IMAGE = `registry.example/operator:1.2.3@sha256:${'a'.repeat(64)}`
const RELEASE = { version: '1.2.3', image: IMAGE, architectures: ['amd64', 'arm64'] }
const PLAIN = ['NOTES.md', 'SHA256SUMS', 'operator.mjs', 'operator.licenses.txt', 'operator.sbom.json'] as const
const OF_VERSION = ['constructs-1.2.3.tgz', 'cli-1.2.3.tgz', 'operator-1.2.3.oci.tar'] as const
const STATEMENTS = ['amd64.cdx', 'amd64.provenance', 'arm64.cdx', 'arm64.provenance'] as const

let folder = ''
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-assets-'))
  for (const file of [
    ...PLAIN,
    ...OF_VERSION.map((name) => `open-terrain-${name}`),
    ...STATEMENTS.map((name) => `open-terrain-operator-1.2.3-${name}.json`),
  ])
    writeFileSync(join(folder, file), '')
  for (const file of ['IMAGE', 'install.yaml']) writeFileSync(join(folder, file), `image: ${IMAGE}\n`)
  await archive('open-terrain-1.2.3.tgz', 'open-terrain/values.yaml', `image: ${IMAGE}\n`)
  await archive('open-terrain-manifests-1.2.3.tar.gz', 'release/3-install.yaml', `image: ${IMAGE}\n`)
  await archive('open-terrain-infra-1.2.3.tgz', 'package/package.json', JSON.stringify({ operatorImage: IMAGE }))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function archive(file: string, path: string, content: string): Promise<void> {
  const tar = await buffer(layerTar([{ type: 'file', path: `/${path}`, mode: 0o644, content }]))
  await writeFile(join(folder, file), gzipSync(tar))
}

const check = () => checkAssets(folder, RELEASE)

it('a release has the files that the documentation lists, and all name its image', async () => {
  await expect(check()).resolves.toBeUndefined()
  const table = readFileSync(join(import.meta.dirname, '../../docs/releases.md'), 'utf8')
  for (const file of ['IMAGE', 'install.yaml', 'open-terrain-<version>.tgz', 'open-terrain-manifests-<version>.tar.gz'])
    expect(table).toContain(`\`${file}\``)
})

it('a release is refused that lacks a file, or has one that nobody knows', async () => {
  writeFileSync(join(folder, 'open-terrain-ui-1.2.3.tgz'), '')
  await expect(check()).rejects.toThrow('nobody knows these files of the release: open-terrain-ui-1.2.3.tgz')
  rmSync(join(folder, 'install.yaml'))
  await expect(check()).rejects.toThrow('the release lacks install.yaml')
})

it('a release is refused whose chart or packages do not know its image', async () => {
  await archive('open-terrain-1.2.3.tgz', 'open-terrain/values.yaml', 'image: localhost/operator\n')
  await archive('open-terrain-infra-1.2.3.tgz', 'package/package.json', '{}')
  await expect(check()).rejects.toThrow(`the image of the release is ${IMAGE}, and these do not name it: chart, infra`)
})
