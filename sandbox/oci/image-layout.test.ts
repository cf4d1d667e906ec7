import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import type { Header } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Image, ImageLayout, MEDIA_TYPES } from './image-layout.ts'
import type { Entry } from './layer.ts'
import { type Registry, startRegistry } from './registry.ts'
import { readTar } from './tar-reader.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-oci-'))
  writeFileSync(join(folder, 'program'), 'a program of this machine', { mode: 0o600 })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const ENTRIES: readonly Entry[] = [
  {
    type: 'file',
    path: '/usr/bin/program',
    mode: 0o755,
    get content() {
      return { from: join(folder, 'program') }
    },
  },
  { type: 'symlink', path: '/bin', target: 'usr/bin' },
  { type: 'directory', path: '/tmp', mode: 0o1777 },
  { type: 'file', path: '/home/user/.profile', mode: 0o600, uid: 1000, gid: 1000, content: 'umask 077\n' },
]
const image = (entries: readonly Entry[] = ENTRIES, name = 'registry.example/team/image:1.0'): Image => ({
  name,
  platform: { os: 'linux', architecture: 'amd64' },
  layers: [[{ type: 'file', path: '/etc/passwd', mode: 0o644, content: 'root:x:0:0::/:\n' }], entries],
  config: { User: '1000:1000', Entrypoint: ['/usr/bin/program'], Env: ['A=b'] },
})
const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const emptyLayout = () => ImageLayout.open(mkdtempSync(join(folder, 'layout-')))

/** What is in a tar file, in its order. */
async function read(tar: Buffer): Promise<(Header & { text: string })[]> {
  const found: (Header & { text: string })[] = []
  for await (const { header, bytes } of readTar(Readable.from([tar]))) found.push({ ...header, text: bytes.toString() })
  return found
}

describe('ImageLayout', () => {
  it('is an index of manifests, whose config and layers have the digests and sizes that they are named by', async () => {
    const layout = await emptyLayout()
    const { digest, size } = await layout.add(image())
    const json = (path: string) => JSON.parse(readFileSync(join(layout.folder, path), 'utf8'))
    expect(json('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' })
    const annotations = {
      'org.opencontainers.image.ref.name': 'registry.example/team/image:1.0',
      'io.containerd.image.name': 'registry.example/team/image:1.0',
    }
    expect(json('index.json')).toEqual({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.index,
      manifests: [
        {
          mediaType: MEDIA_TYPES.manifest,
          digest,
          size,
          platform: { os: 'linux', architecture: 'amd64' },
          annotations,
        },
      ],
    })
    const manifest = await layout.manifest(digest)
    for (const one of [{ digest, size }, manifest.config, ...manifest.layers]) {
      const bytes = readFileSync(layout.blob(one.digest))
      expect([sha256(bytes), bytes.length]).toEqual([one.digest, one.size])
    }
    const config = JSON.parse(readFileSync(layout.blob(manifest.config.digest), 'utf8'))
    expect(config).toMatchObject({ os: 'linux', architecture: 'amd64', config: image().config })
    const tars = manifest.layers.map((layer) => gunzipSync(readFileSync(layout.blob(layer.digest))))
    expect(config.rootfs).toEqual({ type: 'layers', diff_ids: tars.map(sha256) })
    expect(config.history).toHaveLength(tars.length)
  })

  it('has layers that depend on names, modes, owners and bytes alone, with every folder before what is in it', async () => {
    const layout = await emptyLayout()
    const { digest } = await layout.add(image())
    const again = await (await emptyLayout()).add(image(ENTRIES.toReversed()))
    expect(again).toEqual(await layout.add(image()))
    const { layers } = await layout.manifest(digest)
    const found = await read(gunzipSync(readFileSync(layout.blob(layers[1]?.digest ?? ''))))
    expect(found.map(({ name, type, mode, uid, linkname, text }) => [name, type, mode, uid, linkname || text])).toEqual(
      [
        ['bin', 'symlink', 0o777, 0, 'usr/bin'],
        ['home', 'directory', 0o755, 0, ''],
        ['home/user', 'directory', 0o755, 0, ''],
        ['home/user/.profile', 'file', 0o600, 1000, 'umask 077\n'],
        ['tmp', 'directory', 0o1777, 0, ''],
        ['usr', 'directory', 0o755, 0, ''],
        ['usr/bin', 'directory', 0o755, 0, ''],
        ['usr/bin/program', 'file', 0o755, 0, 'a program of this machine'],
      ],
    )
    expect(new Set(found.map(({ mtime }) => mtime?.getTime()))).toEqual(new Set([0]))
  })

  it.each<[string, readonly Entry[], string]>([
    ['a path twice', [...ENTRIES, { type: 'directory', path: '/usr/../bin', mode: 0o755 }], '/bin is twice in a layer'],
    [
      'a path below a link',
      [...ENTRIES, { type: 'file', path: '/bin/other', mode: 0o755, content: '' }],
      '/bin/other lies below /bin, which is a symlink',
    ],
    [
      'a file that is not there',
      [{ type: 'file', path: '/lost', mode: 0o644, content: { from: '/does/not/exist' } }],
      "ENOENT: no such file or directory, stat '/does/not/exist'",
    ],
  ])('refuses %s, and keeps its images', async (_what, entries, message) => {
    const layout = await emptyLayout()
    const kept = await layout.add(image())
    await expect(layout.add(image(entries))).rejects.toThrow(message)
    expect(await layout.images()).toEqual([kept])
  })

  it('has images of several names and replaces one of the same name; its archive leaves out what was replaced', async () => {
    const layout = await emptyLayout()
    const replaced = await layout.add(image())
    const other = await layout.add(image([], 'registry.example/other:2'))
    const added = await layout.add(image(ENTRIES.slice(1)))
    expect(await (await ImageLayout.open(layout.folder)).images()).toEqual([other, added])

    const archive = join(folder, 'archive.tar')
    await layout.writeArchive(archive)
    const names = (await read(readFileSync(archive))).map(({ name }) => name)
    const blobOf = ({ digest }: { digest: string }) => digest.replace('sha256:', 'blobs/sha256/')
    const manifests = await Promise.all([other, added].map(({ digest }) => layout.manifest(digest)))
    const used = [other, added, ...manifests.flatMap(({ config, layers }) => [config, ...layers])].map(blobOf)
    expect(names).toEqual(['blobs', 'blobs/sha256', ...new Set(used.sort()), 'index.json', 'oci-layout'])
    expect(existsSync(layout.blob(replaced.digest))).toBe(true)
  })
})

describe('an index of images', () => {
  const statement = ({ digest }: { readonly digest: string }) => ({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256: digest.replace('sha256:', '') } }],
    predicateType: 'https://example.com/said',
    predicate: {},
  })
  const add = (layout: ImageLayout, ...architectures: string[]) => {
    const { name, ...one } = image()
    const images = architectures.map((architecture) => ({ ...one, platform: { os: 'linux', architecture } }))
    return layout.addIndex({ name, images, statements: (about) => [statement(about)] })
  }

  it('has the image of each platform, and after them what is said about each, which names it as its subject', async () => {
    const layout = await emptyLayout()
    const index = await add(layout, 'amd64', 'arm64')
    expect(index.mediaType).toBe(MEDIA_TYPES.index)
    const [amd64, arm64, ...attached] = await layout.index(index.digest)
    expect([amd64, arm64].map((one) => one?.platform?.architecture)).toEqual(['amd64', 'arm64'])
    expect(attached.map(({ platform, annotations }) => [platform?.os, annotations])).toEqual(
      [amd64, arm64].map((one) => [
        'unknown',
        {
          'vnd.docker.reference.type': 'attestation-manifest',
          'vnd.docker.reference.digest': one?.digest,
        },
      ]),
    )
    const read = (digest: string) => JSON.parse(readFileSync(layout.blob(digest), 'utf8'))
    const { subject, layers } = read(attached[1]?.digest ?? '')
    expect(subject).toEqual({ mediaType: MEDIA_TYPES.manifest, digest: arm64?.digest, size: arm64?.size })
    expect(layers[0].annotations).toEqual({ 'in-toto.io/predicate-type': 'https://example.com/said' })
    expect(read(layers[0].digest)).toEqual(statement({ digest: arm64?.digest ?? '' }))
  })

  it('is served by its type, and is whole in an archive; one that was replaced is not in it', async () => {
    const layout = await emptyLayout()
    await add(layout, 'amd64', 'arm64')
    const { digest } = await add(layout, 'arm64')
    const registry = await startRegistry(layout)
    try {
      const response = await fetch(`http://${registry.host}/v2/team/image/manifests/1.0`)
      expect([response.headers.get('content-type'), response.headers.get('docker-content-digest')]).toEqual([
        MEDIA_TYPES.index,
        digest,
      ])
    } finally {
      await registry.close()
    }
    const archive = join(folder, 'index.tar')
    await layout.writeArchive(archive)
    const blobs = (await read(readFileSync(archive)))
      .map(({ name }) => name)
      .filter((name) => /[0-9a-f]{64}$/.test(name))
    const manifests = await layout.index(digest)
    const below = await Promise.all(manifests.map((one) => layout.manifest(one.digest)))
    const used = [
      digest,
      ...manifests.map((one) => one.digest),
      ...below.flatMap((one) => [one.config, ...one.layers].map((blob) => blob.digest)),
    ]
    expect(blobs).toEqual([...new Set(used)].map((one) => one.replace('sha256:', 'blobs/sha256/')).sort())
  })
})

describe('the registry', () => {
  let layout: ImageLayout
  let registry: Registry
  beforeAll(async () => {
    layout = await emptyLayout()
    registry = await startRegistry(layout)
  })
  afterAll(() => registry.close())
  const ask = (path: string, method = 'GET') => fetch(`http://${registry.host}/v2/${path}`, { method })

  it('serves what was added by digest and by tag: the manifest, and every blob that it names', async () => {
    const { digest, size } = await layout.add(image())
    expect((await ask('')).status).toBe(200)
    for (const reference of ['1.0', digest]) {
      const head = await ask(`team/image/manifests/${reference}`, 'HEAD')
      expect(Object.fromEntries(head.headers)).toMatchObject({
        'content-type': MEDIA_TYPES.manifest,
        'docker-content-digest': digest,
        'content-length': `${size}`,
      })
      const body = await (await ask(`team/image/manifests/${reference}`)).arrayBuffer()
      expect(sha256(Buffer.from(body))).toBe(digest)
    }
    const { config, layers } = await layout.manifest(digest)
    for (const one of [config, ...layers]) {
      const body = await (await ask(`team/image/blobs/${one.digest}`)).arrayBuffer()
      expect(sha256(Buffer.from(body))).toBe(one.digest)
    }
  })

  it.each([
    ['GET', 'team/image/manifests/2.0', 404, 'MANIFEST_UNKNOWN'],
    ['GET', 'eam/image/manifests/1.0', 404, 'MANIFEST_UNKNOWN'],
    ['GET', `team/image/blobs/sha256:${'0'.repeat(64)}`, 404, 'BLOB_UNKNOWN'],
    ['GET', 'team/image/blobs/..%2f..%2findex.json', 404, 'NAME_UNKNOWN'],
    ['GET', 'team/image/tags/list', 404, 'NAME_UNKNOWN'],
    ['POST', 'team/image/blobs/uploads/', 405, 'UNSUPPORTED'],
  ])('refuses %s %s', async (method, path, status, code) => {
    const response = await ask(path, method)
    expect([response.status, await response.json()]).toMatchObject([status, { errors: [{ code }] }])
  })
})
