import type { TestProject } from 'vitest/node'
import { type Cluster, startCluster } from '../../sandbox/control-plane/cluster.ts'
import type { ForeignCrdSource } from '../../sandbox/control-plane/foreign-crds.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of an administrator's kubeconfig for the cluster that all scenarios of a run share. */
    kubeconfig: string
    /** Which CRDs of CDI and snapshots that cluster has. */
    foreignCrds: ForeignCrdSource
  }
}

/** One control plane for all scenarios of a run. Those that stop or kill servers start their own. */
export default async function startSharedCluster(project: TestProject): Promise<() => Promise<void>> {
  const cluster: Cluster = await startCluster()
  project.provide('kubeconfig', cluster.controlPlane.kubeconfigPath)
  project.provide('foreignCrds', cluster.foreign.source)
  return async () => {
    const { source, folder } = cluster.foreign
    process.stdout.write(`CRDs of CDI and snapshots: ${source === 'real' ? `real (${folder})` : 'our small ones'}\n`)
    await cluster.controlPlane.stop()
  }
}
