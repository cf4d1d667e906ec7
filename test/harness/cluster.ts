import { afterAll, beforeAll } from 'vitest'
import { type Cluster, type ClusterOptions, startCluster } from '../../sandbox/control-plane/cluster.ts'
import { auditFlags } from './audit-log.ts'
import { READABLE_STORAGE } from './etcd-history.ts'
import { keepAccount } from './operator-account.ts'

/** The cluster of this worker. An operator serves every image of its cluster, so tests that run in parallel need different clusters. */
let shared: Promise<Cluster> | undefined

/**
 * The control plane that the test files of a worker share, one after another, if the project keeps modules between files
 * (`isolate: false`). It stops with the worker process.
 */
export function useCluster(): () => Cluster {
  return clusterOf(() => {
    shared ??= start().then((cluster) => {
      keepAccount(cluster)
      return cluster
    })
    return shared
  })
}

/** A control plane for one test file that may break it, changes its kinds, or needs other options. */
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
  return await startCluster({ isSeeded: true, ...options, apiServerFlags })
}
