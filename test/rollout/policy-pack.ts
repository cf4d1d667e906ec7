import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const PACK = join(import.meta.dirname, '../../infra/policy-pack')
const RUNNER = createRequire(import.meta.url).resolve('@pulumi/pulumi/cmd/run-policy-pack')
const RUNTIME = 'stand-in'

export interface PolicyPack {
  readonly startedBy: 'language host' | 'stand-in'
  /** The value for `--policy-pack`. */
  readonly folder: string
  /** Must be on the PATH of the CLI. */
  readonly path?: string
}

/**
 * Returns the policy pack of this repository if the CLI has its own language host. The host that can be built here starts no policy packs, so
 * then `folder` gets a pack with a runtime that has no host: for such a runtime the engine calls a script on the PATH, which starts our pack with
 * Pulumi's own runner, as the host would.
 */
export async function policyPack(folder: string, hasOwnHost: boolean): Promise<PolicyPack> {
  if (hasOwnHost) return { startedBy: 'language host', folder: PACK }
  const [pack, path] = [join(folder, 'pack'), join(folder, 'bin')]
  for (const part of [pack, path]) await mkdir(part, { recursive: true })
  await writeFile(join(pack, 'PulumiPolicy.yaml'), `runtime: ${RUNTIME}\n`)
  const script = join(path, `pulumi-analyzer-policy-${RUNTIME}`)
  await writeFile(script, `#!/bin/sh\ncd '${PACK}' && exec '${process.execPath}' '${RUNNER}' "$1" .\n`)
  await chmod(script, 0o755)
  return { startedBy: 'stand-in', folder: pack, path }
}
