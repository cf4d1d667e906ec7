import { accessSync, constants, globSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const NAME = 'pulumi-resource-kubernetes'

/** The plugin through which the engine accesses clusters. */
export type KubernetesPlugin =
  | {
      readonly type: 'real'
      /** Must be first on the PATH of the CLI. */
      readonly folder: string
    }
  | { readonly type: 'stand-in' }

/** Returns the Kubernetes plugin of Pulumi on the PATH, or else the newest installed one, or else our stand-in. */
export function findKubernetesPlugin(): KubernetesPlugin {
  const home = process.env['PULUMI_HOME'] || join(homedir(), '.pulumi')
  const installed = globSync(`plugins/resource-kubernetes-v*/${NAME}`, { cwd: home })
    .toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }))
    .map((file) => join(home, file))
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((entry) => join(entry, NAME))
  const real = [...onPath, ...installed].find(isExecutable)
  return real === undefined ? { type: 'stand-in' } : { type: 'real', folder: dirname(real) }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
