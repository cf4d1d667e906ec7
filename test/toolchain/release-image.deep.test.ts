import { execFileSync } from 'node:child_process'
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Descriptor, ImageLayout, type Statement } from '../../sandbox/oci/image-layout.ts'
import { readTar } from '../../sandbox/oci/tar-reader.ts'
import { addReleaseImage } from '../../tooling/image/operator-image.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Of a program or library, as it says itself: which processor it is for. */
const MACHINES: Readonly<Record<number, string>> = { 62: 'amd64', 183: 'arm64' }
const SBOM = {
  metadata: { component: { 'bom-ref': 'open-terrain-operator@0', type: 'application', name: 'open-terrain-operator' } },
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

async function build(into: ImageLayout, name: string, architectures: readonly string[]): Promise<Descriptor> {
  const [bundle, sbom] = [inject('operatorBundle'), join(folder, 'operator.sbom.json')]
  writeFileSync(
    sbom,
    JSON.stringify({
      $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      version: 1,
      ...SBOM,
    }),
  )
  return await addReleaseImage(into, { name, revision: '0'.repeat(40), files: [bundle, sbom], sbom, architectures })
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

describe.skipIf(process.env['IMAGE'] === 'skip')('the image of a release', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'open-terrain-release-image-'))
    layout = await ImageLayout.open(join(folder, 'layout'))
    image = await build(layout, 'registry.example/open-terrain-operator:test', ['amd64', 'arm64'])
    const all = await layout.index(image.digest)
    const attachedTo = (digest: string) =>
      all.find(({ annotations }) => annotations?.['vnd.docker.reference.digest'] === digest)
    const images = all.filter(({ annotations }) => annotations === undefined)
    platforms = await Promise.all(images.map((one) => platformOf(one, attachedTo(one.digest))))
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
})
