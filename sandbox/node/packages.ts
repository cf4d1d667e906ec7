import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { closureOf, mergeUsr, resolveDebianTool } from '../debian-packages.ts'

/** What nodes run from Debian: the runtime of containers, packet rules, what CDI's importer calls, and small tools for pods. */
const PACKAGES = [
  'runc',
  'iptables',
  'ipset',
  'nftables',
  'conntrack',
  'iproute2',
  'qemu-utils',
  'nbdkit',
  'busybox-static',
  'ca-certificates',
]

/** Folder of a file system that has these packages and all that they depend on. */
export async function resolvePackages(report: (line: string) => void): Promise<string> {
  const folder = await resolveDebianTool(
    {
      // Another list has another folder: one that a node runs from must not change.
      name: `node-packages-${createHash('sha256').update(PACKAGES.join()).digest('hex').slice(0, 8)}`,
      packages: (apt) => closureOf(apt, ...PACKAGES),
      kept: '',
      findIn: async (cache) => (existsSync(join(cache, 'usr/sbin/runc')) ? cache : undefined),
      remedy: 'the node made here needs Debian or Ubuntu with apt. Name a cluster in NODE_KUBECONFIG instead.',
    },
    report,
  )
  await mergeUsr(folder)
  return folder
}
