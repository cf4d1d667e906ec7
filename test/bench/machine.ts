import { execFileSync } from 'node:child_process'
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { resolveBinaries } from '../../sandbox/control-plane/binaries.ts'

const ROOT = join(import.meta.dirname, '../..')

type Facts = (readonly [string, string])[]

/** What figures depend on besides the code, as rows of a table. */
export async function machineFacts(): Promise<Facts> {
  const binaries = await resolveBinaries()
  const apiServer = execFileSync(binaries['kube-apiserver'], ['--version'], { encoding: 'utf8' }).trim()
  const etcd = execFileSync(binaries.etcd, ['--version'], { encoding: 'utf8' }).split('\n')[0] ?? ''
  return [...hardwareFacts(), ['API server', `${apiServer}, ${etcd}, on loopback, without fsync`]]
}

/** The same, for measurements without an API server. */
export function hardwareFacts(): Facts {
  return [
    ['processor', processorFact()],
    ['memory', `${Math.round(totalmem() / 1024 ** 3)} GiB`],
    ['kernel', `${type()} ${versionOf(release())} ${arch()}`],
    ['Node', process.version],
  ]
}

/** `AMD EPYC, 2 cores` */
export function processorFact(): string {
  const processors = cpus()
  return `${processors[0]?.model ?? 'unknown'}, ${processors.length} cores`
}

/** Load average over 1, 5 and 15 minutes. */
export function loadFact(): string {
  return loadavg()
    .map((load) => load.toFixed(2))
    .join(', ')
}

/** The commit that was measured, and whether the files differed from it. */
export function commitFact(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  try {
    const isDirty = git('status', '--porcelain') !== ''
    return `${git('rev-parse', '--short=12', 'HEAD')}${isDirty ? ' with uncommitted changes' : ''}`
  } catch {
    return 'unknown (not a git repository)'
  }
}

/** Two builds of one version count as the same machine. */
function versionOf(release: string): string {
  return release.split('.').slice(0, 2).join('.')
}
