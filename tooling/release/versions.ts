import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const OURS = '@open-terrain/'
const LOCK = 'package-lock.json'
/** How pages, programs and the Dockerfile name what a release has. */
const NAMED =
  /(?<before>open-terrain-operator:|open-terrain-(?:cli|constructs|infra)-|^ARG VERSION=|^version=)(?<version>\d+\.\d+\.\d+)/gm

/** A place that has the version of the product. */
interface VersionPlace {
  readonly file: string
  readonly version: string
}

interface Manifest {
  version?: string
  readonly dependencies?: Record<string, string>
}

/** The version of the product. package.json has it, and all other places follow. */
export function versionHere(root: string = ROOT): string {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
}

/** Every place that has the version. */
export function versionPlaces(root: string = ROOT): readonly VersionPlace[] {
  const places = [...manifests(root)].flatMap(({ file, all }) =>
    all.flatMap((manifest) => versionsIn(manifest).map((version) => ({ file, version }))),
  )
  for (const file of textFiles(root))
    for (const { groups } of readFileSync(join(root, file), 'utf8').matchAll(NAMED))
      places.push({ file, version: groups?.['version'] ?? '' })
  return places
}

/** Writes the version at every place. */
export function setVersion(version: string, root: string = ROOT): void {
  for (const { file, json, all } of manifests(root)) {
    for (const manifest of all) {
      if (manifest.version !== undefined) manifest.version = version
      for (const name of Object.keys(manifest.dependencies ?? {}).filter((one) => one.startsWith(OURS)))
        Object.assign(manifest.dependencies as object, { [name]: version })
    }
    writeFileSync(join(root, file), `${JSON.stringify(json, null, 2)}\n`)
  }
  for (const file of textFiles(root)) {
    const text = readFileSync(join(root, file), 'utf8')
    const changed = text.replace(NAMED, `$<before>${version}`)
    if (changed !== text) writeFileSync(join(root, file), changed)
  }
}

/** The manifests of a repository, and those in its lockfile. */
function* manifests(root: string): Generator<{ file: string; json: object; all: readonly Manifest[] }> {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
  for (const file of [
    'package.json',
    ...globSync(['*/package.json', 'infra/policy-pack/package.json'], { cwd: root }),
  ]) {
    if (file.startsWith('node_modules')) continue
    const json = read(file)
    yield { file, json, all: [json] }
  }
  const lock = read(LOCK)
  const own = Object.entries(lock.packages as Record<string, Manifest>).filter(
    ([path]) => !path.includes('node_modules/'),
  )
  yield { file: LOCK, json: lock, all: [lock, ...own.map(([, manifest]) => manifest)] }
}

function versionsIn({ version, dependencies = {} }: Manifest): string[] {
  const ours = Object.entries(dependencies).filter(([name]) => name.startsWith(OURS))
  return [...(version === undefined ? [] : [version]), ...ours.map(([, wanted]) => wanted)]
}

function textFiles(root: string): readonly string[] {
  const files = globSync(['Dockerfile', 'Pulumi*.yaml', 'README.md', 'docs/**/*.md', '{constructs,infra}/**/*.ts'], {
    cwd: root,
    exclude: ['**/node_modules', '**/dist'],
  })
  return files.filter((file) => !/\.(?:test|fixtures)\.ts$/.test(file)).sort()
}
