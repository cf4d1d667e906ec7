import { execFile, spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { ALLOCATOR, NODE_FLAGS } from '../../operator/node-flags.ts'
import type { Descriptor, Image, ImageLayout, RunConfig } from '../../sandbox/oci/image-layout.ts'
import type { Entry } from '../../sandbox/oci/layer.ts'
import { readTar } from '../../sandbox/oci/tar-reader.ts'
import { clientsFor, lockedArchitectures, obtainPackages, type PackageLock, readLock } from './locked-packages.ts'
import { partsOfNode, type Sbom, statementsOf } from './statements.ts'

const run = promisify(execFile)
const ABOUT_US = join(import.meta.dirname, '../../package.json')
/** User and group of the Deployment. */
const USER = 65532
/** Debian's libraries, without what converts character sets, which Node brings itself. */
const LIBRARY = /^\/usr\/lib(?:32|64)?\/(?!.*\/(?:gconv|audit)\/)/
const ABOUT = /^\/usr\/share\/(?:doc\/[^/]+(?:\/copyright)?|common-licenses\/.+)$/

/** Files that libraries look for. */
const ETC: Readonly<Record<string, string>> = {
  passwd: `root:x:0:0:root:/:/nologin\nnonroot:x:${USER}:${USER}:nonroot:/:/nologin\n`,
  group: `root:x:0:\nnonroot:x:${USER}:\n`,
  // A pod's own hosts before its name server.
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
}

interface OperatorImageProps {
  /** Registry, repository and tag. */
  readonly name: string
  /** The commit, if all is as it is there. Default: the image names none. */
  readonly revision?: string | undefined
  /** Files of this machine that are copied into its root: the bundle, and what describes it. */
  readonly files: readonly string[]
  /** The list of packages in the bundle. */
  readonly sbom: Sbom
  /** In the words of Debian; default: all that the lock has. */
  readonly architectures?: readonly string[]
}

interface Parts {
  readonly architecture: string
  readonly version: string
  readonly lock: PackageLock
  /** The files of the packages of the lock, by name. */
  readonly packages: ReadonlyMap<string, string>
}

/**
 * Adds the operator's image for each architecture to a layout, as one index, with the list of what is in it and from what it was made. Returns the
 * descriptor of the index. Nothing of another architecture runs here. Throws an error of one sentence if a package cannot be had.
 */
export async function addOperatorImage(layout: ImageLayout, props: OperatorImageProps): Promise<Descriptor> {
  const all: Parts[] = []
  for (const architecture of props.architectures ?? (await lockedArchitectures())) all.push(await partsOf(architecture))
  const images = await Promise.all(all.map((parts) => operatorImage(props, parts)))
  return await layout.addIndex({
    name: props.name,
    images,
    statements: (image) => {
      const parts = all.find(({ architecture }) => architecture === image.platform?.architecture) as Parts
      const { revision, sbom: bundle } = props
      return statementsOf({ ...parts, revision, bundle, partsOfNode: partsOfNode(parts.lock) }, image)
    },
  })
}

async function partsOf(architecture: string): Promise<Parts> {
  const { version, devDependencies } = JSON.parse(await readFile(ABOUT_US, 'utf8'))
  const lock = await readLock(architecture, devDependencies.node)
  // Before anything is downloaded.
  partsOfNode(lock)
  return { architecture, version, lock, packages: await obtainPackages(lock, clientsFor(architecture)) }
}

/**
 * The operator on Node, with the libraries that Node needs, and nothing else: no shell and no package manager. The certificate authorities are part
 * of Node. What changes seldom is in a layer of its own.
 */
async function operatorImage(
  { name, revision, files }: OperatorImageProps,
  { architecture, version, lock, packages }: Parts,
): Promise<Image> {
  const base: Entry[] = [
    // Packages name either path, depending on the version of Debian.
    { type: 'symlink', path: '/lib', target: 'usr/lib' },
    { type: 'symlink', path: '/etc/os-release', target: '../usr/lib/os-release' },
  ]
  for (const [name, content] of Object.entries(ETC))
    base.push({ type: 'file', path: `/etc/${name}`, mode: 0o644, content })
  for (const one of lock.debian) base.push(...(await debianEntries(one.name, packages.get(one.name) ?? one.name)))
  // The loader of amd64 is there, by its fixed name. Other architectures have theirs in /lib.
  if (base.some(({ path }) => path.startsWith('/usr/lib64/')))
    base.push({ type: 'symlink', path: '/lib64', target: 'usr/lib64' })
  base.push(...(await nodeEntries(packages.get(lock.node.name) ?? lock.node.name)))
  const own = files.map((from): Entry => ({ type: 'file', path: `/${basename(from)}`, mode: 0o444, content: { from } }))
  return {
    name,
    platform: { os: 'linux', architecture },
    layers: [base, own],
    config: runConfig({ version, revision }),
  }
}

/** As the Dockerfile has it. */
export function runConfig({
  version,
  revision,
}: {
  readonly version: string
  readonly revision?: string | undefined
}): RunConfig {
  const variables = Object.entries(ALLOCATOR).map(([name, value]) => `${name}=${value}`)
  return {
    User: `${USER}:${USER}`,
    Env: ['PATH=/usr/local/bin', 'NODE_ENV=production', ...variables],
    Entrypoint: ['node', ...NODE_FLAGS, '/operator.mjs'],
    ExposedPorts: { '8080/tcp': {}, '8081/tcp': {} },
    Labels: {
      'org.opencontainers.image.title': 'open-terrain-operator',
      'org.opencontainers.image.description': 'Keeps VM disk images synced without saturating the network',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': version,
      ...(revision !== undefined && { 'org.opencontainers.image.revision': revision }),
    },
  }
}

async function debianEntries(name: string, file: string): Promise<Entry[]> {
  const { stdout: content } = await run('dpkg-deb', ['--field', file])
  // Where scanners look for the packages of images that have no package manager.
  const entries: Entry[] = [{ type: 'file', path: `/var/lib/dpkg/status.d/${name}`, mode: 0o644, content }]
  const unpacking = spawn('dpkg-deb', ['--fsys-tarfile', file], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const { header, bytes } of readTar(unpacking.stdout)) {
    const path = header.name.replace(/^\.?\/?(?:usr\/)?(?=lib(?:32|64)?\/)/, '/usr/').replace(/^\.?\/*/, '/')
    if (!LIBRARY.test(path) && !ABOUT.test(path)) continue
    if (header.type === 'symlink') entries.push({ type: 'symlink', path, target: header.linkname ?? '' })
    else if (header.type === 'file') entries.push({ type: 'file', path, mode: header.mode ?? 0o644, content: bytes })
  }
  return entries
}

/** From an npm package: the program and its license. */
async function nodeEntries(file: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const { header, bytes: content } of readTar(createReadStream(file).pipe(createGunzip()))) {
    if (header.name === 'package/bin/node')
      entries.push({ type: 'file', path: '/usr/local/bin/node', mode: 0o755, content })
    if (header.name === 'package/LICENSE')
      entries.push({ type: 'file', path: '/usr/local/share/doc/node/LICENSE', mode: 0o644, content })
  }
  return entries
}
