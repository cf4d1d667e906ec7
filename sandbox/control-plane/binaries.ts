import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolderOf } from '../cache-folder.ts'
import { buildBinaries } from './binary-build.ts'
import { downloadControllerManager, downloadEnvtest } from './binary-download.ts'
import type { BinaryName, ControlPlaneBinaries } from './binary-name.ts'
import { holdLock } from './directory-lock.ts'
import { findGo } from './go-build.ts'

const NAMES: readonly BinaryName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager']
const GO_MOD = join(import.meta.dirname, 'go.mod')

export interface ResolveOptions {
  /** Receives progress messages of slow steps. Default: writes to standard error. */
  readonly report?: (line: string) => void
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Finds the servers, or gets them. Sources, in order: `$KUBEBUILDER_ASSETS`, our cache, the official envtest archive,
 * the Kubernetes release, a build from the Go modules in `go.mod`. Each source supplies what the earlier ones lack.
 * Throws an error of one sentence that says what to install if a server is still missing.
 */
export async function resolveBinaries(options: ResolveOptions = {}): Promise<ControlPlaneBinaries> {
  const env = options.env ?? process.env
  const report = options.report ?? ((line) => process.stderr.write(`${line}\n`))
  const cache = await cacheFolder(env)
  const folders = [...(env['KUBEBUILDER_ASSETS'] ? [env['KUBEBUILDER_ASSETS']] : []), cache]
  const present = await findIn(folders)
  if (isComplete(present)) return present

  const release = await holdLock(`${cache}.lock`, () => report('another process is getting the control plane: waiting'))
  try {
    await obtain(cache, missingFrom(await findIn(folders)), report)
    const found = await findIn(folders)
    if (isComplete(found)) return found
    throw new Error(whatToInstall(missingFrom(found)))
  } finally {
    await release()
  }
}

/** `~/.cache/open-terrain/control-plane/<Kubernetes version>-<hash of go.mod>` */
export async function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): Promise<string> {
  const goMod = await readFile(GO_MOD, 'utf8')
  const hash = createHash('sha256').update(goMod).digest('hex').slice(0, 12)
  return join(cacheFolderOf(env), 'control-plane', `${kubernetesVersion(goMod)}-${hash}`)
}

/** The version of `k8s.io/kubernetes` that go.mod pins, such as `v1.36.3`. */
export function kubernetesVersion(goMod: string): string {
  const version = /^\s*k8s\.io\/kubernetes (v\S+)/m.exec(goMod)?.[1]
  if (version === undefined) throw new Error('sandbox/control-plane/go.mod does not pin k8s.io/kubernetes')
  return version
}

/** Fills the cache. Tries the downloads first, then the slower build from source. */
async function obtain(cache: string, missing: readonly BinaryName[], report: (line: string) => void): Promise<void> {
  const version = kubernetesVersion(await readFile(GO_MOD, 'utf8'))
  let wanted = missing
  if (wanted.includes('etcd') || wanted.includes('kube-apiserver')) {
    if (await downloadEnvtest(cache, version, report)) wanted = wanted.filter((n) => n === 'kube-controller-manager')
  }
  if (wanted.length === 1 && wanted[0] === 'kube-controller-manager') {
    if (await downloadControllerManager(cache, version, report)) wanted = []
  }
  if (wanted.length > 0 && (await findGo()) !== undefined) {
    const build = { names: wanted, source: import.meta.dirname, target: cache, version, report }
    await buildBinaries(build).catch((error: Error) => report(error.message))
  }
}

async function findIn(folders: readonly string[]): Promise<Partial<ControlPlaneBinaries>> {
  const found: Partial<Record<BinaryName, string>> = {}
  for (const name of NAMES) {
    for (const folder of folders) {
      const file = join(folder, name)
      if (found[name] === undefined && (await isExecutable(file))) found[name] = file
    }
  }
  return found
}

async function isExecutable(file: string): Promise<boolean> {
  return (
    existsSync(file) &&
    access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
  )
}

function isComplete(found: Partial<ControlPlaneBinaries>): found is ControlPlaneBinaries {
  return missingFrom(found).length === 0
}

function missingFrom(found: Partial<ControlPlaneBinaries>): BinaryName[] {
  return NAMES.filter((name) => found[name] === undefined)
}

function whatToInstall(missing: readonly BinaryName[]): string {
  const purpose =
    missing.includes('etcd') || missing.includes('kube-apiserver') ? '' : ', needed for garbage collection,'
  return (
    `${missing.join(', ')}${purpose} cannot be downloaded or built here: install Go 1.26 or newer (they are then built ` +
    'from source once), allow access to the internet, or point KUBEBUILDER_ASSETS at a folder that holds them.'
  )
}
