import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild'

const ROOT = join(import.meta.dirname, '../..')
const COMPILER = join(ROOT, 'node_modules/typescript-7/bin/tsc')
/** Import of a source by its name, which the compiler leaves in declarations. */
const IMPORT_OF_SOURCE = /((?:\bfrom |\bimport\()(['"])[.]{1,2}\/[^'"]+)[.]ts\2/g

/** What a manifest of a workspace has. */
export interface SourceManifest {
  readonly name: string
  readonly version: string
  readonly exports?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
}

export interface Library {
  /** Folder of the workspace, from the root. The package is made in `dist` there. */
  readonly folder: string
  /** Doors of the workspace that are not published, because nobody is promised anything about them. */
  readonly closed?: readonly string[]
  /** Versions of dependencies that differ from those of the workspace. None means that only programs and tools of the repository need it. */
  readonly dependencies?: Readonly<Record<string, string | undefined>>
  /** Fields that its manifest has besides those of the workspace. */
  readonly more?: Readonly<Record<string, string>>
}

/**
 * Builds a package for CommonJS (at the top, where also compilers look that do not read `exports`) and for ES modules (the doors in `esm/`, which lead to the
 * same code), with declarations for both. So a program of one kind and a library of the other have the same classes. Returns its folder.
 */
export async function buildLibrary({ folder, closed = [], dependencies = {}, more = {} }: Library): Promise<string> {
  const workspace = join(ROOT, folder)
  const dist = join(workspace, 'dist')
  const esm = join(dist, 'esm')
  rmSync(dist, { recursive: true, force: true })
  execFileSync(process.execPath, [COMPILER, '-p', join(workspace, 'tsconfig.build.json')], { stdio: 'inherit' })
  await addCommonJs(esm, dist)
  rmSync(esm, { recursive: true })
  const { scripts: _, exports = {}, dependencies: ofWorkspace, ...manifest } = manifestOf(folder)
  const doors = Object.entries(exports).filter(([door]) => !closed.includes(door))
  for (const [, source] of doors) addEsModule(source, dist)
  writeJson(join(esm, 'package.json'), { type: 'module' })
  const published = {
    ...manifest,
    ...more,
    type: 'commonjs',
    main: './index.js',
    types: './index.d.ts',
    exports: Object.fromEntries([...doors.map(([door, source]) => [door, doorOf(source)]), [PACKAGE, PACKAGE]]),
    dependencies: definedOf({ ...ofWorkspace, ...dependencies }),
  }
  writeManifest(folder, published)
  return dist
}

/** Tools read it. */
const PACKAGE = './package.json'

export function manifestOf(folder: string): SourceManifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as SourceManifest
}

/** Writes the manifest of a package, and what people read first beside it. */
export function writeManifest(folder: string, manifest: object): void {
  const dist = join(ROOT, folder, 'dist')
  writeJson(join(dist, 'package.json'), { ...manifest, ...repositoryOf(folder, process.env) })
  cpSync(join(ROOT, folder, 'README.md'), join(dist, 'README.md'))
  cpSync(join(ROOT, 'LICENSE'), join(dist, 'LICENSE'))
}

/** Where the hosting platform builds it: npm takes signed provenance only of a package that names its repository. Elsewhere nothing is known. */
function repositoryOf(folder: string, env: Readonly<Record<string, string | undefined>>): object {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = env
  if (!server || !name) return {}
  return { repository: { type: 'git', url: `git+${server}/${name}.git`, directory: folder } }
}

function pathOf(source: string): string {
  return source.replace(/^[.]\//, '').replace(/[.]ts$/, '')
}

function doorOf(source: string): object {
  const path = pathOf(source)
  const [imported, required] = [`./esm/${path}`, `./${path}`]
  return {
    import: { types: `${imported}.d.ts`, default: `${imported}.js` },
    require: { types: `${required}.d.ts`, default: `${required}.js` },
  }
}

/** A door for ES modules to what the one for CommonJS exports. */
function addEsModule(source: string, dist: string): void {
  const path = pathOf(source)
  const door = join(dist, 'esm', path)
  mkdirSync(dirname(door), { recursive: true })
  const target = relative(dirname(door), join(dist, path)).replaceAll('\\', '/')
  for (const kind of ['js', 'd.ts']) writeFileSync(`${door}.${kind}`, `export * from '${target}.js'\n`)
}

/** Each compiled module as one of CommonJS, with its declarations. */
async function addCommonJs(esm: string, dist: string): Promise<void> {
  const files = readdirSync(esm, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.d.ts'))) {
    const declarations = readFileSync(join(esm, file), 'utf8').replace(IMPORT_OF_SOURCE, '$1.js$2')
    mkdirSync(join(dist, file, '..'), { recursive: true })
    writeFileSync(join(dist, file), declarations)
  }
  await build({
    entryPoints: files.filter((name) => name.endsWith('.js')).map((name) => join(esm, name)),
    outdir: dist,
    outbase: esm,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  })
}

function definedOf(dependencies: Readonly<Record<string, string | undefined>>): object {
  return Object.fromEntries(Object.entries(dependencies).filter(([, version]) => version !== undefined))
}

function writeJson(file: string, value: object): void {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`)
}
