// A registry that mirrors only some platforms makes npm leave the other platforms' optional packages out of
// package-lock.json, and `npm ci` then refuses the file everywhere. This puts them back (name, version and platform;
// npm verifies them by their own manifest when a machine of that platform installs). Run it after `npm install`.
//
//   node tooling/complete-lockfile.mjs           writes package-lock.json
//   node tooling/complete-lockfile.mjs --check   exits 1 when something is missing

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const CPUS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

/** Derives the platforms of a native package from its name. */
function platformOf(name) {
  const words = name.split('/').at(-1).split('-')
  const os = SYSTEMS.filter((system) => words.includes(system))
  const cpu = CPUS.filter((cpu) => words.includes(cpu))
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : words.some((word) => word.startsWith('gnu'))
      ? ['glibc']
      : []
  return {
    ...(cpu.length > 0 && { cpu }),
    ...(libc.length > 0 && { libc }),
    ...(os.length > 0 && { os }),
  }
}

/** Reports whether Node, walking up the folders, finds `name` when the package at `path` requires it. */
function isResolved(packages, path, name) {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (packages[at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`] !== undefined) return true
    if (at === '') return false
  }
}

export function missingPackages(lock) {
  const missing = {}
  for (const [path, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (!/^\d/.test(version) || isResolved(lock.packages, path, name)) continue
      missing[`node_modules/${name}`] = {
        version,
        ...platformOf(name),
        ...(entry.dev && { dev: true }),
        optional: true,
      }
    }
  }
  return missing
}

function main() {
  const file = fileURLToPath(new URL('../package-lock.json', import.meta.url))
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  const missing = missingPackages(lock)
  const names = Object.keys(missing)
  if (names.length === 0) return
  if (process.argv.includes('--check')) {
    process.stderr.write(`package-lock.json lacks ${names.join(', ')}: run node tooling/complete-lockfile.mjs\n`)
    process.exitCode = 1
    return
  }
  const packages = Object.entries({ ...lock.packages, ...missing }).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`)
  process.stdout.write(`added ${names.length} packages of other platforms to package-lock.json\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
