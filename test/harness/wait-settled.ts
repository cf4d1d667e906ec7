import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'
import type { World } from './world.ts'

interface Settled {
  readonly code: number
  readonly output: string
}

/** Runs `wait-settled.sh` of the examples. Returns its output and exit code. */
export async function waitSettled(
  { namespace, cluster }: World,
  target: string,
  { timeout = '300s', request = '', within = namespace } = {},
): Promise<Settled> {
  const KUBECONFIG = cluster.controlPlane.kubeconfigPath
  const env = { ...process.env, KUBECONFIG, TIMEOUT: timeout, REQUEST: request }
  return await promisify(execFile)(join(EXAMPLES, 'wait-settled.sh'), ['-n', within, target], { env }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, output: stdout }),
  )
}
