import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { findGo } from '../control-plane/go-build.ts'

const run = promisify(execFile)
const FILE_SYSTEMS = ['overlay', 'cgroup']

/** Returns why no node can be made on this machine, as the end of a sentence, or undefined if one can. */
export async function whyNoNodes(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'a node needs Linux. Name a cluster in NODE_KUBECONFIG.'
  if (process.getuid?.() !== 0) return 'a node needs root. Run it as root, or name a cluster in NODE_KUBECONFIG.'
  const known = await readFile('/proc/filesystems', 'utf8')
  const missing = FILE_SYSTEMS.find((name) => !new RegExp(`\\s${name}$`, 'm').test(known))
  if (missing !== undefined) return `this kernel has no ${missing}. Name a cluster in NODE_KUBECONFIG.`
  if ((await findGo()) === undefined)
    return 'a node is built with Go 1.26. Install it, or name a cluster in NODE_KUBECONFIG.'
  const isAllowed = await run('unshare', [
    '--mount',
    '--net',
    '--pid',
    '--fork',
    'mount',
    '-t',
    'tmpfs',
    'none',
    '/run',
  ]).then(
    () => true,
    () => false,
  )
  if (!isAllowed) return 'this process may not make namespaces and mounts. Name a cluster in NODE_KUBECONFIG.'
  return undefined
}
