import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { closureOf, resolveDebianTool } from '../debian-packages.ts'

const run = promisify(execFile)

/** What nodes run from Debian: the runtime of containers, packet rules, what CDI's importer calls, and small tools for pods. */
const PACKAGES = [
  'runc',
  'iptables',
  'nftables',
  'conntrack',
  'iproute2',
  'qemu-utils',
  'nbdkit',
  'busybox-static',
  'ca-certificates',
]
const WHOLE = '.complete'
const MERGED = ['bin', 'sbin', 'lib', 'lib64']

/** Folder of a file system that has these packages and all that they depend on. */
export async function resolvePackages(report: (line: string) => void): Promise<string> {
  const folder = await resolveDebianTool(
    {
      name: 'node-packages',
      packages: (apt) => closureOf(apt, ...PACKAGES),
      kept: '',
      findIn: async (cache) => (existsSync(join(cache, 'usr/sbin/runc')) ? cache : undefined),
      remedy: 'the node made here needs Debian or Ubuntu with apt. Name a cluster in NODE_KUBECONFIG instead.',
    },
    report,
  )
  if (!existsSync(join(folder, WHOLE))) await mergeUsr(folder)
  return folder
}

/** Packages still contain /bin and /lib. A Debian system has links there. */
async function mergeUsr(folder: string): Promise<void> {
  for (const name of MERGED) {
    const path = join(folder, name)
    if (existsSync(path)) await run('cp', ['-a', `${path}/.`, join(folder, 'usr', name)])
    await rm(path, { recursive: true, force: true })
    await symlink(`usr/${name}`, path)
  }
  await writeFile(join(folder, WHOLE), '')
}
