import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PlayJobObject } from '@open-terrain/constructs/operator'
import { SystemProcess, type SystemProps } from './system.ts'

/** What kubelet reads of a Job that plays roles. */
export interface PlayPod {
  readonly containers: readonly [PlayContainer]
  readonly volumes: readonly PodVolume[]
}

interface PlayContainer {
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly terminationMessagePath: string
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

type PodVolume = PlayJobObject['spec']['template']['spec']['volumes'][number]

/** Data of ConfigMaps, or of Secrets as text, by name of the object and key. */
type DataByName = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface PlayedIn extends Pick<SystemProps, 'root' | 'host'> {
  readonly configMaps: DataByName
  readonly secrets: DataByName
  /** Folders that the image has as `/usr/share/ansible/roles`, and as `/etc/ansible/roles`. */
  readonly roles: readonly [string, string]
}

/** How a container ended. */
export interface Played {
  readonly exitCode: number
  /** What kubelet keeps of it, with `FallbackToLogsOnError`. */
  readonly message: string
  readonly log: string
}

/** Mode of the files of a ConfigMap. */
const READABLE = 0o644
/** What kubelet takes of a log. */
const LINES = 80
const BYTES = 2_048
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Root as a container with `drop: [ALL]` has it. */
const WITHOUT_RIGHTS = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs', '--']

/**
 * Runs the container of a pod as kubelet would, in a file system that is read-only but for `/tmp`.
 * @param during called when it runs
 */
export async function playPod(
  { containers: [container], volumes }: PlayPod,
  { root, host, configMaps, secrets, roles }: PlayedIn,
  during: (process: SystemProcess) => Promise<void> = async () => undefined,
): Promise<Played> {
  const folder = await mkdtemp(join(tmpdir(), 'ot-pod-'))
  const mounts: Record<string, string> = {}
  for (const { name, mountPath } of container.volumeMounts) {
    const files = filesOf(
      volumes.find((one) => one.name === name),
      configMaps,
      secrets,
    )
    mounts[mountPath] = await makeVolume(join(folder, name), files)
  }
  const ending = join(folder, 'ending')
  await writeFile(ending, '')
  mounts[container.terminationMessagePath] = ending
  mounts['/usr/share/ansible/roles'] = roles[0]
  mounts['/etc/ansible/roles'] = roles[1]
  const env = container.env.map(({ name, value }) => `${name}=${value}`)
  const command = [...WITHOUT_RIGHTS, 'env', '-i', `PATH=${PATH}`, 'HOME=/root', ...env]
  const all = [...command, ...container.command, ...container.args]
  const process = await SystemProcess.start({ root, host, mounts, isReadOnly: true }, all)
  try {
    await during(process)
    const exitCode = await process.ended
    const written = await readFile(ending, 'utf8')
    const message = written !== '' || exitCode === 0 ? written : tail(process.log)
    return { exitCode, message, log: process.log }
  } finally {
    await process.remove()
    await rm(folder, { recursive: true, force: true })
  }
}

function tail(log: string): string {
  return Buffer.from(log.split('\n').slice(-LINES).join('\n')).subarray(-BYTES).toString('utf8')
}

interface VolumeFile {
  readonly path: string
  readonly content: string
  readonly mode: number
}

function filesOf(volume: PodVolume | undefined, configMaps: DataByName, secrets: DataByName): VolumeFile[] {
  const data = configMaps[volume?.configMap?.name ?? '']
  if (data !== undefined) return Object.entries(data).map(([path, content]) => ({ path, content, mode: READABLE }))
  const { projected } = volume ?? {}
  if (projected === undefined) throw new Error(`nothing is known of volume ${volume?.name}`)
  return projected.sources.flatMap(({ secret: { name, items } }) =>
    items.map(({ key, path }) => {
      const content = secrets[name]?.[key]
      if (content === undefined) throw new Error(`there is no key ${key} of Secret ${name}`)
      return { path, content, mode: projected.defaultMode }
    }),
  )
}

/** Writes files as kubelet does: links to a folder that it exchanges at once. */
async function makeVolume(folder: string, files: readonly VolumeFile[]): Promise<string> {
  const stamp = '..2026_11_28_20_00_00.1'
  await mkdir(join(folder, stamp), { recursive: true, mode: 0o755 })
  await symlink(stamp, join(folder, '..data'))
  for (const { path, content, mode } of files) {
    await writeFile(join(folder, stamp, path), content, { mode })
    await symlink(`..data/${path}`, join(folder, path))
  }
  return folder
}
