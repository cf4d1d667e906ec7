import { afterAll, beforeAll } from 'vitest'
import { type Cluster, type ClusterOptions, startCluster } from '../../sandbox/control-plane/cluster.ts'
import { READABLE_STORAGE } from './etcd-history.ts'

/**
 * A control plane for the scenarios of one file. An operator serves every image of its cluster, so two files that run
 * at the same time need two clusters.
 */
export function useCluster(options: ClusterOptions = {}): () => Cluster {
  let cluster: Cluster | undefined
  beforeAll(async () => {
    cluster = await startCluster({ ...options, apiServerFlags: { ...READABLE_STORAGE, ...options.apiServerFlags } })
  })
  afterAll(async () => {
    await cluster?.controlPlane.stop()
  })
  return () => {
    if (cluster === undefined) throw new Error('the cluster has not started yet')
    return cluster
  }
}
