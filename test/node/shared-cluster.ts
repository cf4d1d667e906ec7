import { beforeAll } from 'vitest'
import { existingCluster } from './existing-cluster.ts'
import { madeCluster } from './made-cluster.ts'
import type { RealCluster } from './real-cluster.ts'

let shared: Promise<RealCluster> | undefined

/** The cluster that all test files share. It ends with the process of the tests. */
export function useRealCluster(): () => RealCluster {
  let cluster: RealCluster | undefined
  beforeAll(async () => {
    const existing = process.env['NODE_KUBECONFIG']
    shared ??= existing ? existingCluster(existing) : madeCluster()
    cluster = await shared
  })
  return () => {
    if (cluster === undefined) throw new Error('the cluster has not started yet')
    return cluster
  }
}
