import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'
import type { World } from './world.ts'

/** Where it is missing, that is said: tests that are left out look like tests that passed. CI needs it. */
export const HAS_KUBECTL = spawnSync('kubectl', ['version', '--client']).status === 0
if (!HAS_KUBECTL) {
  const note = 'kubectl is not on PATH: examples/wait-settled.sh is not tried'
  if (process.env['CI'] !== undefined) throw new Error(note)
  process.stderr.write(`${note}\n`)
}

interface Settled {
  readonly code: number
  readonly said: string
}

/** What the script of the examples prints, and its exit code. */
export async function waitSettled(
  { namespace, cluster }: World,
  target: string,
  { timeout = '60s', request = '', within = namespace } = {},
): Promise<Settled> {
  const KUBECONFIG = cluster.controlPlane.kubeconfigPath
  const env = { ...process.env, KUBECONFIG, TIMEOUT: timeout, REQUEST: request }
  return await promisify(execFile)(join(EXAMPLES, 'wait-settled.sh'), ['-n', within, target], { env }).then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, said: stdout }),
  )
}
