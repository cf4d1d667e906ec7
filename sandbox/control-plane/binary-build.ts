import { join } from 'node:path'
import type { BinaryName } from './binary-name.ts'
import { buildGoCommand } from './go-build.ts'

const PACKAGES: Readonly<Record<BinaryName, string>> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
}

export interface BuildOptions {
  readonly names: readonly BinaryName[]
  /** Folder of go.mod. */
  readonly source: string
  /** Folder to write the binaries to. */
  readonly target: string
  /** Version that the Kubernetes servers report. */
  readonly version: string
  readonly report: (line: string) => void
}

/** Builds the binaries one at a time, because each build uses all cores. */
export async function buildBinaries({ names, source, target, version, report }: BuildOptions): Promise<void> {
  report(`building ${names.join(', ')} from source: about 5 minutes on 2 cores, this once (kept in ${target})`)
  for (const [index, name] of names.entries()) {
    await buildGoCommand({
      title: `[${index + 1}/${names.length}] ${name}`,
      source,
      package: PACKAGES[name],
      linkerFlags: linkerFlags(version),
      file: join(target, name),
      report,
    })
  }
}

/** Without these flags the API server reports version v0.0.0-master, and clients refuse to compare versions with it. */
export function linkerFlags(version: string): string {
  const [major, minor] = version.slice(1).split('.')
  const values = {
    gitVersion: version,
    gitMajor: major,
    gitMinor: minor,
    gitTreeState: 'clean',
    gitCommit: 'unknown',
    buildDate: '1970-01-01T00:00:00Z',
  }
  const settings = Object.entries(values).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`)
  return ['-s', '-w', ...settings].join(' ')
}
