import { afterAll, beforeAll } from 'vitest'
import { type Cluster, type ClusterOptions, startCluster } from '../../sandbox/control-plane/cluster.ts'
import { auditFlags } from './audit-log.ts'
import { READABLE_STORAGE } from './etcd-history.ts'

/** Of this worker: an operator serves every image of its cluster, so two tests that run at the same time need two clusters. */
let shared: Promise<Cluster> | undefined

/**
 * The control plane that the files of a worker share one after another, where the project lets its modules live on (`isolate: false`).
 * It ends with the process of the worker.
 */
export function useCluster(): () => Cluster {
  return clusterOf(() => {
    shared ??= start()
    return shared
  })
}

/** A control plane for one file, which may break it or change its kinds, or needs another one. */
export function useOwnCluster(options: ClusterOptions = {}): () => Cluster {
  let own: Promise<Cluster> | undefined
  afterAll(async () => {
    await (await own)?.controlPlane.stop()
  })
  return clusterOf(() => {
    own = start(options)
    return own
  })
}

function clusterOf(get: () => Promise<Cluster>): () => Cluster {
  let cluster: Cluster | undefined
  beforeAll(async () => {
    cluster = await get()
  })
  return () => {
    if (cluster === undefined) throw new Error('the cluster has not started yet')
    return cluster
  }
}

async function start(options: ClusterOptions = {}): Promise<Cluster> {
  const apiServerFlags = { ...READABLE_STORAGE, ...(await auditFlags()), ...options.apiServerFlags }
  return await startCluster({ ...options, apiServerFlags })
}
