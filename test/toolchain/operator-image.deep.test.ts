import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Descriptor, ImageLayout, type Statement } from '../../sandbox/oci/image-layout.ts'
import { type Registry, startRegistry } from '../../sandbox/oci/registry.ts'
import { readTar } from '../../sandbox/oci/tar-reader.ts'
import { architectureHere, clientsFor, obtainPackages, readLock } from '../../tooling/image/locked-packages.ts'
import { addOperatorImage } from '../../tooling/image/operator-image.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** Of a program or library, as it says itself: which processor it is for. */
const MACHINES: Readonly<Record<number, string>> = { 62: 'amd64', 183: 'arm64' }
const SBOM = {
  $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: {
    component: { 'bom-ref': 'open-terrain-operator@0', type: 'application', name: 'open-terrain-operator' },
  },
}

interface Platform {
  readonly architecture: string
  /** The bytes of each file, by its path. */
  readonly files: ReadonlyMap<string, Buffer>
  readonly links: ReadonlyMap<string, string>
  readonly statements: readonly Statement[]
}

let folder = ''
let layout: ImageLayout
let image: Descriptor
let platforms: Platform[] = []
/** The image for this machine, as a node has it. */
let pulled: Awaited<ReturnType<typeof pull>>

function build(into: ImageLayout, name: string, architectures: readonly string[]): Promise<Descriptor> {
  const files = [inject('operatorBundle')]
  return addOperatorImage(into, { name, revision: '0'.repeat(40), files, sbom: SBOM, architectures })
}

async function platformOf(one: Descriptor, attached: Descriptor | undefined): Promise<Platform> {
  const files = new Map<string, Buffer>()
  const links = new Map<string, string>()
  for (const { digest } of (await layout.manifest(one.digest)).layers)
    for await (const { header, bytes } of readTar(createReadStream(layout.blob(digest)).pipe(createGunzip()))) {
      if (header.type === 'file') files.set(`/${header.name}`, bytes)
      if (header.type === 'symlink') links.set(`/${header.name}`, header.linkname ?? '')
    }
  const { layers } = await layout.manifest(attached?.digest ?? '')
  const statements = layers.map(({ digest }) => JSON.parse(readFileSync(layout.blob(digest), 'utf8')) as Statement)
  return { architecture: one.platform?.architecture ?? '', files, links, statements }
}

/** The programs and libraries of an image, in the format of Linux. */
function* elfs({ files }: Platform): Generator<readonly [path: string, bytes: Buffer]> {
  for (const [path, bytes] of files) if (bytes.subarray(0, 4).toString('latin1') === '\u007fELF') yield [path, bytes]
}

/** The libraries that a program or library asks for by name, and the loader that it names: texts of its own string table. */
function needs(path: string, bytes: Buffer): string[] {
  const file = join(folder, 'elf')
  writeFileSync(file, bytes)
  const said = execFileSync('readelf', ['--dynamic', '--program-headers', '--wide', file], { encoding: 'utf8' })
  const found = [...said.matchAll(/\(NEEDED\).*\[(.+)\]|interpreter: (.+)\]/g)].map(
    ([, library, loader]) => library ?? loader ?? '',
  )
  if (!path.endsWith('/node')) return found
  expect(found.length).toBeGreaterThan(3)
  return found
}

const isServed = ({ files, links }: Platform, name: string) =>
  [...files.keys(), ...links.keys()].some((path) => path.endsWith(`/${name.split('/').at(-1)}`))

/** Of the index, the image that a node like this machine takes. */
async function imageHere(digest: string): Promise<Descriptor> {
  const all = await layout.index(digest)
  return all.find(({ platform }) => platform?.architecture === architectureHere()) as Descriptor
}

/** Downloads the image by its digest as a node does, checks what it gets, and returns its root as a folder, and its configuration. */
async function pull({ host }: Registry, digest: string) {
  const get = async (path: string, expected: string) => {
    const body = Buffer.from(
      await (await fetch(`http://${host}/v2/open-terrain-operator/${path}/${expected}`)).arrayBuffer(),
    )
    expect(`sha256:${createHash('sha256').update(body).digest('hex')}`).toBe(expected)
    return body
  }
  const manifest = JSON.parse((await get('manifests', (await imageHere(digest)).digest)).toString())
  const config = JSON.parse((await get('blobs', manifest.config.digest)).toString())
  const root = mkdtempSync(join(folder, 'root-'))
  chmodSync(root, 0o755)
  const diffIds: string[] = []
  for (const layer of manifest.layers) {
    const file = join(folder, 'layer.tar.gz')
    writeFileSync(file, await get('blobs', layer.digest))
    const hash = createHash('sha256')
    await pipeline(createReadStream(file), createGunzip(), hash)
    diffIds.push(`sha256:${hash.digest('hex')}`)
    await run('tar', ['-xpf', file, '-C', root])
  }
  expect(config.rootfs.diff_ids).toEqual(diffIds)
  return { root, config: config.config }
}

describe.skipIf(process.env['IMAGE'] === 'skip')('the image of the operator', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'open-terrain-operator-image-'))
    layout = await ImageLayout.open(join(folder, 'layout'))
    image = await build(layout, 'registry.example/open-terrain-operator:test', ['amd64', 'arm64'])
    const all = await layout.index(image.digest)
    const attachedTo = (digest: string) =>
      all.find(({ annotations }) => annotations?.['vnd.docker.reference.digest'] === digest)
    const images = all.filter(({ annotations }) => annotations === undefined)
    platforms = await Promise.all(images.map((one) => platformOf(one, attachedTo(one.digest))))
    const registry = await startRegistry(layout)
    pulled = await pull(registry, image.digest).finally(() => registry.close())
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('has the same digests when it is built again, under another name', async () => {
    const again = await ImageLayout.open(join(folder, 'again'))
    const { digest } = await build(again, 'private.example/mirror/operator:1', ['arm64'])
    const all = await layout.index(image.digest)
    const one = await again.index(digest)
    expect(one).toHaveLength(2)
    expect(all).toEqual(expect.arrayContaining([...one]))
  })

  it('is for amd64 and arm64: programs of that processor alone, with every library that they ask for', () => {
    expect(platforms.map(({ architecture }) => architecture)).toEqual(['amd64', 'arm64'])
    for (const platform of platforms) {
      const found = [...elfs(platform)]
      expect(found.length).toBeGreaterThan(10)
      expect(new Set(found.map(([, bytes]) => MACHINES[bytes.readUInt16LE(18)]))).toEqual(
        new Set([platform.architecture]),
      )
      const missing = found.flatMap(([path, bytes]) => needs(path, bytes).filter((name) => !isServed(platform, name)))
      expect(missing).toEqual([])
    }
  })

  it('has the same files on both, but for the names of their processor', () => {
    const [amd64 = [], arm64 = []] = platforms.map(({ files }) =>
      [...files.keys()].map((path) => path.replace(/(?:x86_64|aarch64)-linux-gnu|\/lib64\//, '/lib/')),
    )
    // The vector functions of the C library, and the second name of its loader.
    const own = /\/(?:libmvec\.so\.1|ld-linux-[\w-]+\.so\.\d)$/
    const without = (paths: readonly string[]) => paths.filter((path) => !own.test(path)).sort()
    expect(without(arm64)).toEqual(without(amd64))
  })

  it('has a list of all that is in it: every package of the lock and Node with its parts, as CycloneDX accepts it', () => {
    const schemas = join(
      dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
      'res/schema',
    )
    const schema = (name: string) => JSON.parse(readFileSync(join(schemas, `${name}.SNAPSHOT.schema.json`), 'utf8'))
    const ajv = new Ajv({ strict: false, allErrors: true, formats: { 'iri-reference': true, 'idn-email': true } })
    addFormats.default(ajv)
    for (const name of ['spdx', 'jsf-0.82'])
      ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
    const isValid = ajv.compile(schema('bom-1.5'))
    const lock = JSON.parse(readFileSync(join(ROOT, 'tooling/image/packages.lock.json'), 'utf8'))
    for (const { architecture, statements } of platforms) {
      const bom = statements[0]?.predicate as { components: { name: string; version: string }[] }
      expect([isValid(bom), isValid.errors]).toEqual([true, null])
      const named = bom.components.map(({ name, version }) => `${name} ${version}`)
      const packages = (lock[architecture].debian as { name: string; version: string }[]).map(
        ({ name, version }) => `${name} ${version}`,
      )
      expect(named).toEqual(expect.arrayContaining([...packages, `node ${lock[architecture].node.version}`]))
      expect(JSON.stringify(bom)).toContain('"name":"openssl"')
    }
    expect(isValid({ bomFormat: 'CycloneDX', specVersion: '1.5', components: [{}] })).toBe(false)
  })

  it('says from what it was made: the commit, and each package with its hash', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'tooling/image/packages.lock.json'), 'utf8'))
    for (const { architecture, statements } of platforms) {
      const { node, debian } = lock[architecture] as { node: { sha256: string }; debian: { sha256: string }[] }
      expect(statements[1]).toMatchObject({
        _type: 'https://in-toto.io/Statement/v1',
        predicateType: 'https://slsa.dev/provenance/v1',
        predicate: {
          buildDefinition: {
            externalParameters: { platform: `linux/${architecture}` },
            resolvedDependencies: [
              { digest: { gitCommit: '0'.repeat(40) } },
              ...[node, ...debian].map(({ sha256 }) => ({ digest: { sha256 } })),
            ],
          },
        },
      })
    }
  })

  it('has the operator, Node, and the libraries that Node needs; no shell, no other program, and nothing that others could change', () => {
    const { root } = pulled
    const list = (...conditions: string[]) =>
      execFileSync('find', [root, '-type', 'f', ...conditions, '-printf', '/%P\n'], { encoding: 'utf8' })
        .split('\n')
        .filter(Boolean)
    const isLibrary = (path: string) => /^\/usr\/lib(64)?\/.*\.so(\.\d+)*$/.test(path)
    expect(list('-perm', '/111').filter((path) => !isLibrary(path))).toEqual(['/usr/local/bin/node'])
    expect(list('-perm', '/6022')).toEqual([])
    expect(list('-name', '*.mjs*')).toEqual(['/operator.mjs'])
    expect(readFileSync(join(root, 'usr/lib/os-release'), 'utf8')).toContain('ID=debian')
    const licensed = [
      'usr/share/doc/gcc-12-base/copyright',
      'usr/share/doc/libc6/copyright',
      'usr/local/share/doc/node/LICENSE',
    ]
    for (const path of licensed) expect(readFileSync(join(root, path), 'utf8')).toMatch(/license/i)
  })

  it('starts the operator by its configuration, pulled by digest', async ({ skip }) => {
    skip(process.getuid?.() !== 0, 'only root may run a program in another root folder')
    const { root, config } = pulled
    // After the test of what is in it.
    mkdirSync(join(root, 'proc'))
    writeFileSync(join(root, 'etc/hosts'), '192.0.2.7 kubernetes.example\n')
    const env = Object.fromEntries((config.Env as string[]).map((text) => text.split(/=(.*)/s)))
    const start = (...command: string[]) =>
      run(
        'unshare',
        [
          '--mount',
          '--pid',
          '--fork',
          '--kill-child',
          `--mount-proc=${root}/proc`,
          'chroot',
          `--userspec=${config.User}`,
          root,
          ...command,
        ],
        // The programs that lead there are on the path of most systems. The operator gets what the image says.
        { env: { ...env, PATH: `${env['PATH']}:/usr/sbin:/usr/bin:/sbin:/bin` } },
      )
    await expect(start(...config.Entrypoint)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^no credentials for a Kubernetes cluster were found \(KUBECONFIG is not set, HOME is not set, .* does not exist\): set KUBECONFIG .*\n$/,
      ),
    })
    const lookUp =
      "require('node:dns').lookup('kubernetes.example', (error, address) => console.log(process.getuid(), error ?? address))"
    expect((await start('node', '-e', lookUp)).stdout).toBe('65532 192.0.2.7\n')
  })

  it('needs a version that is served: another one leads to the command that renews the lock', async () => {
    const lock = await readLock(architectureHere(), devDependencies.node)
    const debian = [{ name: 'libc6', version: '0.0.1-1', sha256: '0'.repeat(64) }]
    await expect(obtainPackages({ ...lock, debian }, clientsFor(architectureHere()))).rejects.toThrow(
      'libc6 0.0.1-1 of the lock is not served here, or no longer: renew the lock with "npm run image -- --renew-lock"',
    )
  })
})
