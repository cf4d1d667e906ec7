import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { resolveBinaries } from '../../sandbox/control-plane/binaries.ts'
import { findKubernetesPlugin, type KubernetesPlugin } from '../rollout/kubernetes-plugin.ts'
import { type PolicyPack, policyPack } from '../rollout/policy-pack.ts'
import { type PulumiCli, resolvePulumi } from '../rollout/pulumi-cli/resolve.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    pulumi: PulumiCli
    kubernetesPlugin: KubernetesPlugin
    policyPack: PolicyPack
  }
}

/** Provides the servers, the Pulumi CLI and its plugins before any test waits for them, and prints at the end which ones were used. */
export default async function prepareRollout(project: TestProject): Promise<() => Promise<void>> {
  await resolveBinaries()
  const pulumi = await resolvePulumi()
  const folder = await mkdtemp(join(tmpdir(), 'open-terrain-plugin-'))
  const plugin = findKubernetesPlugin()
  const pack = await policyPack(join(folder, 'policies'), pulumi.languageHost === undefined)
  project.provide('pulumi', pulumi)
  project.provide('kubernetesPlugin', plugin)
  project.provide('policyPack', pack)
  return async () => {
    await rm(folder, { recursive: true, force: true })
    const which =
      plugin.type === 'real'
        ? `the real Kubernetes plugin (${plugin.folder})`
        : 'a stand-in for the Kubernetes plugin (the real one is not on this machine)'
    const packs =
      pack.startedBy === 'stand-in' ? ', the policy pack started by a script (the language host here cannot)' : ''
    process.stdout.write(`Rolled out by Pulumi ${pulumi.version} with ${which}${packs}\n`)
  }
}
