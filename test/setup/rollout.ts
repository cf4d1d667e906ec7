import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { resolveBinaries } from '../../sandbox/control-plane/binaries.ts'
import { findKubernetesPlugin, type KubernetesPlugin } from '../rollout/kubernetes-plugin.ts'
import { type PulumiCli, resolvePulumi } from '../rollout/pulumi-cli/resolve.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    pulumi: PulumiCli
    kubernetesPlugin: KubernetesPlugin
  }
}

/** Gets the servers, the Pulumi CLI and its plugin before any test waits for them, and says at the end with which it was. */
export default async function prepareRollout(project: TestProject): Promise<() => Promise<void>> {
  await resolveBinaries()
  const pulumi = await resolvePulumi()
  const folder = await mkdtemp(join(tmpdir(), 'open-terrain-plugin-'))
  const plugin = await findKubernetesPlugin(folder)
  project.provide('pulumi', pulumi)
  project.provide('kubernetesPlugin', plugin)
  return async () => {
    await rm(folder, { recursive: true, force: true })
    const which =
      plugin.type === 'real'
        ? `the real Kubernetes plugin (${plugin.folder})`
        : 'a stand-in for the Kubernetes plugin (the real one is not on this machine)'
    process.stdout.write(`Rolled out by Pulumi ${pulumi.version} with ${which}\n`)
  }
}
