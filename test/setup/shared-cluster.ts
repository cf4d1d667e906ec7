import type { TestProject } from 'vitest/node'
import { type Cluster, startCluster } from '../../sandbox/control-plane/cluster.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of an administrator's kubeconfig for the cluster that all files of conformance share. */
    kubeconfig: string
  }
}

/** Starts one control plane for all files of a project. No file stops it. */
export default async function startSharedCluster(project: TestProject): Promise<() => Promise<void>> {
  const cluster: Cluster = await startCluster({ isSeeded: true })
  project.provide('kubeconfig', cluster.controlPlane.kubeconfigPath)
  return async () => {
    const { source, folder } = cluster.foreign
    process.stdout.write(`CRDs of CDI and snapshots: ${source === 'real' ? `real (${folder})` : 'our small ones'}\n`)
    await cluster.controlPlane.stop()
  }
}
