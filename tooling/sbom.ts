// Writes the packages in the bundle of the operator to dist/operator.sbom.json, in the CycloneDX form of npm, and their licenses to
// dist/operator.licenses.txt.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { licensesOf } from './licenses.ts'

const ROOT = join(import.meta.dirname, '..')
/** Matches the package folder of a file, from the outermost node_modules on, wherever that is. */
const PACKAGE = /(?<=^|\/)node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+(?=\/)/

/** The part of the esbuild metafile that is read here. */
interface Metafile {
  readonly outputs: Readonly<
    Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>
  >
}

type LockedPackage = Readonly<Record<string, unknown>> & { readonly version: string }

interface Lockfile {
  readonly version: string
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Returns the packages that contribute to the bundle, by their paths in package-lock.json. */
export function bundledPackages({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap(({ inputs: all }) => Object.entries(all))
  // With a name before a colon: made here, by a plugin of the bundler.
  const files = inputs.filter(([path, { bytesInOutput }]) => bytesInOutput > 0 && !/^[\w-]+:/.test(path))
  const paths = files.flatMap(([path]) => PACKAGE.exec(path) ?? [])
  return [...new Set(paths)].sort()
}

/**
 * Returns a lockfile of only these packages. npm's own list of a workspace omits what another workspace needs too, and includes what is not in the
 * bundle. Throws if package-lock.json does not contain one of them.
 */
export function lockfileOf(paths: readonly string[], { version, packages }: Lockfile): object {
  const locked = paths.map((path) => {
    const found = packages[path]
    if (found === undefined)
      throw new Error(`package-lock.json has no ${path}, which is in the bundle: run npm install`)
    // Its dependencies are either in the bundle, and so in this list, or were left out of the bundle.
    const { dependencies: _some, optionalDependencies: _optional, peerDependencies: _peers, dev: _dev, ...one } = found
    return [path, one] as const
  })
  const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const outer = locked.filter(([path]) => path.indexOf('node_modules/') === path.lastIndexOf('node_modules/'))
  const dependencies = Object.fromEntries(outer.map(([path, one]) => [nameOf(path), one.version]))
  const about = { name: 'open-terrain-operator', version, license: 'Apache-2.0', dependencies }
  return { ...about, lockfileVersion: 3, packages: { '': about, ...Object.fromEntries(locked) } }
}

/** Removes what npm says of the moment and itself. */
function withoutOccasion(sbom: string): string {
  const { serialNumber: _number, metadata, ...rest } = JSON.parse(sbom)
  const { timestamp: _time, tools: _npm, ...about } = metadata
  return `${JSON.stringify({ ...rest, metadata: about }, null, 2)}\n`
}

/** Writes both for the bundle in dist/. The same bundle has the same list, byte for byte. */
export function writeSbom(): void {
  const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
  const paths = bundledPackages(read('dist/operator.meta.json'))
  writeFileSync(join(ROOT, 'dist/operator.licenses.txt'), licensesOf(paths))
  const lockfile = lockfileOf(paths, read('package-lock.json'))
  const folder = mkdtempSync(join(tmpdir(), 'open-terrain-sbom-'))
  try {
    const project = join(folder, 'open-terrain-operator')
    mkdirSync(project)
    for (const name of ['package.json', 'package-lock.json'])
      writeFileSync(join(project, name), JSON.stringify(lockfile))
    const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only']
    const written = execFileSync('npm', args, { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
    writeFileSync(join(ROOT, 'dist/operator.sbom.json'), withoutOccasion(written.toString()))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  await import('../operator/build.ts')
  writeSbom()
  process.stdout.write('dist/operator.sbom.json\n')
}
