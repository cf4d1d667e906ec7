import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { cacheFolderOf } from '../../sandbox/cache-folder.ts'
import { type Apt, closureOf, downloadNewest, downloadPackages } from '../../sandbox/debian-packages.ts'

const run = promisify(execFile)
const FILE = join(import.meta.dirname, 'packages.lock.json')
const RENEW = 'npm run image -- --renew-lock'

/** What Node needs of Debian, with what that needs. A test starts the operator with nothing else. */
const LIBRARIES = ['libc6', 'libstdc++6']
/** The name and version of the distribution, for scanners, and the licenses that the others refer to. It is not in their closure. */
const ABOUT_DEBIAN = 'base-files'

export interface LockedPackage {
  readonly name: string
  readonly version: string
  readonly sha256: string
}

/** The packages of an image of one architecture. */
export interface PackageLock {
  /** An npm package: the build of Node that the npm package `node` installs. */
  readonly node: LockedPackage
  readonly debian: readonly LockedPackage[]
}

/** Gets packages from where they are published, into a folder. Tests have their own. */
export interface Sources {
  readonly debian: (packages: readonly LockedPackage[], folder: string) => Promise<void>
  readonly npm: (name: string, version: string, folder: string) => Promise<void>
}

/** What an image is made for: Node's word for each architecture, by that of Debian and the OCI. */
const ARCHITECTURES: Readonly<Record<string, string>> = { amd64: 'x64', arm64: 'arm64' }

/** The clients of this machine. Packages of another architecture than its own are only unpacked: nothing of them runs here. */
export function clientsFor(architecture: string): Sources {
  return {
    debian: async (packages, folder) => {
      const select = async () => packages.map(({ name, version }) => `${name}=${version}`)
      // The machine has lists of its own architecture.
      if (architecture === architectureHere()) await downloadPackages(select, folder)
      else await downloadNewest(select, folder, architecture)
    },
    npm: async (name, version, folder) => {
      await run('npm', ['pack', `${name}@${version}`, '--prefer-offline', '--silent'], { cwd: folder })
    },
  }
}

/** The architecture of this machine, in Debian's and the OCI's words. Throws where no image can be made. */
export function architectureHere(): string {
  const name = Object.keys(ARCHITECTURES).find((one) => ARCHITECTURES[one] === process.arch)
  if (process.platform === 'linux' && name !== undefined) return name
  throw new Error(
    `no image can be made on ${process.platform} ${process.arch}: build the Dockerfile with a container engine`,
  )
}

/** The architectures that the lock has packages for. */
export async function lockedArchitectures(): Promise<readonly string[]> {
  return Object.keys(await readAll())
}

/** Throws if the lock has nothing for this architecture, or another version of Node than `nodeVersion`. */
export async function readLock(architecture: string, nodeVersion: string): Promise<PackageLock> {
  const lock = (await readAll())[architecture]
  if (lock === undefined)
    throw new Error(
      `the lock of the image's packages has none for ${architecture}: add them with "${RENEW}", and commit it`,
    )
  if (lock.node.version === nodeVersion) return lock
  throw new Error(
    `the lock of the image's packages has Node ${lock.node.version}, and package.json ${nodeVersion}: renew it with "${RENEW}", and commit it`,
  )
}

/**
 * Returns the files of locked packages, by name of package. They are kept in `cache`, and checked each time. Throws an error of one sentence
 * if a package cannot be had, or has other bytes than the lock says.
 */
export async function obtainPackages(
  { node, debian }: PackageLock,
  sources: Sources,
  cache: string = join(cacheFolderOf(), 'image'),
): Promise<ReadonlyMap<string, string>> {
  await mkdir(cache, { recursive: true })
  const pathOf = ({ name, version, sha256 }: LockedPackage) => join(cache, `${name}_${version}_${sha256.slice(0, 12)}`)
  const isMissing = async (one: LockedPackage) => (await sha256Of(pathOf(one)).catch(() => undefined)) !== one.sha256
  const all = [node, ...debian]
  const missing = (await Promise.all(all.map(async (one) => ((await isMissing(one)) ? [one] : [])))).flat()
  const folder = await mkdtemp(join(cache, '.download-'))
  try {
    const ofDebian = missing.filter((one) => one !== node)
    if (ofDebian.length > 0) await sources.debian(ofDebian, folder).catch((error) => refuse(error, 'apt-get', ofDebian))
    if (missing.includes(node))
      await sources.npm(node.name, node.version, folder).catch((error) => refuse(error, 'npm', [node]))
    const names = await readdir(folder)
    for (const one of missing) {
      const file = join(folder, names.find((name) => isFileOf(name, one)) ?? one.name)
      const sha256 = await sha256Of(file)
      if (sha256 !== one.sha256)
        throw new Error(
          `${one.name} ${one.version} has the SHA-256 ${sha256}, and in the lock ${one.sha256}: find out why, before you renew the lock with "${RENEW}"`,
        )
      await rename(file, pathOf(one))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return new Map(all.map((one) => [one.name, pathOf(one)]))
}

/**
 * Downloads what is locked of Debian, for every architecture, and keeps nothing: a cache can have packages that others cannot get any more. Throws an
 * error of one sentence if a package is no longer served. npm serves each version for ever.
 */
export async function checkServed(clients: (architecture: string) => Sources = clientsFor): Promise<void> {
  for (const [architecture, { debian }] of Object.entries(await readAll())) {
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-served-'))
    try {
      await clients(architecture)
        .debian(debian, folder)
        .catch((error) => refuse(error, 'apt-get', debian))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Locks what Debian and npm serve now, for every architecture. */
export async function renewLock(nodeVersion: string): Promise<void> {
  const locks: Record<string, PackageLock> = {}
  for (const architecture of Object.keys(ARCHITECTURES)) {
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-lock-'))
    try {
      locks[architecture] = await lockNewest(architecture, nodeVersion, folder)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  await writeFile(FILE, `${JSON.stringify(locks, null, 2)}\n`)
}

async function lockNewest(architecture: string, nodeVersion: string, folder: string): Promise<PackageLock> {
  const wanted = [...LIBRARIES, ABOUT_DEBIAN].map((one) => ({ name: one, version: '', sha256: '' }))
  const select = async (apt: Apt) => [...(await closureOf(apt, ...LIBRARIES)), ABOUT_DEBIAN]
  await downloadNewest(select, folder, architecture).catch((error) => refuse(error, 'apt-get', wanted))
  const name = `node-linux-${ARCHITECTURES[architecture]}`
  const node = { name, version: nodeVersion, sha256: '' }
  await clientsFor(architecture)
    .npm(name, nodeVersion, folder)
    .catch((error) => refuse(error, 'npm', [node]))
  const files = (await readdir(folder)).sort()
  const debian: LockedPackage[] = []
  for (const file of files.filter((one) => one.endsWith('.deb')).map((one) => join(folder, one))) {
    const { stdout } = await run('dpkg-deb', ['--field', file, 'Package', 'Version'])
    const [, packaged = '', version = ''] = /^Package: (.*)\nVersion: (.*)$/m.exec(stdout) ?? []
    debian.push({ name: packaged, version, sha256: await sha256Of(file) })
  }
  const packed = files.find((file) => isFileOf(file, node)) ?? ''
  return { node: { ...node, sha256: await sha256Of(join(folder, packed)) }, debian }
}

async function readAll(): Promise<Readonly<Record<string, PackageLock>>> {
  return JSON.parse(await readFile(FILE, 'utf8'))
}

/** npm separates name and version by a hyphen, apt by an underscore. */
function isFileOf(file: string, { name, version }: LockedPackage): boolean {
  return file === `${name}-${version}.tgz` || (file.startsWith(`${name}_`) && file.endsWith('.deb'))
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** apt's words for a version that is nowhere to be had, and npm's. */
const NOT_SERVED =
  /Version '.*' for '(?<name>.*)' was not found|Unable to locate package (?<unknown>\S+)|Can't find a source to download version '.*' of '(?<installed>[^':]+)|E404|ETARGET/

function refuse(
  error: Error & { code?: unknown; stderr?: string },
  client: string,
  packages: readonly LockedPackage[],
): never {
  const names = packages.map(({ name, version }) => `${name} ${version}`.trim()).join(', ')
  if (error.code === 'ENOENT')
    throw new Error(
      `${names} cannot be downloaded, because ${client} is not on this machine: build the Dockerfile with a container engine`,
    )
  const said = error.stderr ?? error.message
  const match = NOT_SERVED.exec(said)
  if (match !== null) {
    const { name, unknown, installed } = match.groups ?? {}
    const lost = packages.find((one) => one.name === (name ?? unknown ?? installed)) ?? packages[0]
    throw new Error(
      `${lost?.name} ${lost?.version} of the lock is not served here, or no longer: renew the lock with "${RENEW}", run the tests of the image, and commit it`,
    )
  }
  const line = said.trim().split('\n').at(-1)
  throw new Error(`${client} cannot download ${names}: ${line}`)
}
