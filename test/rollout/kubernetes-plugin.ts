import { accessSync, constants, globSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const NAME = 'pulumi-resource-kubernetes'
const STAND_IN = join(import.meta.dirname, 'stand-in-provider/main.ts')

/** The plugin through which the engine accesses clusters. */
export interface KubernetesPlugin {
  readonly type: 'real' | 'stand-in'
  /** Must be first on the PATH of the CLI. */
  readonly folder: string
}

/**
 * Returns the Kubernetes plugin of Pulumi on the PATH, or else the newest installed one, or else a script in `folder` that starts our stand-in.
 */
export async function findKubernetesPlugin(folder: string): Promise<KubernetesPlugin> {
  const home = process.env['PULUMI_HOME'] || join(homedir(), '.pulumi')
  const installed = globSync(`plugins/resource-kubernetes-v*/${NAME}`, { cwd: home })
    .toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }))
    .map((file) => join(home, file))
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((entry) => join(entry, NAME))
  const real = [...onPath, ...installed].find(isExecutable)
  if (real !== undefined) return { type: 'real', folder: dirname(real) }
  await mkdir(folder, { recursive: true })
  const script = join(folder, NAME)
  await writeFile(script, `#!/bin/sh\nexec '${process.execPath}' '${STAND_IN}' "$@"\n`)
  await chmod(script, 0o755)
  return { type: 'stand-in', folder }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
