import { expect, inject } from 'vitest'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import type { FaultProxy } from '../harness/fault-proxy.ts'
import { FaultStage } from './fault-stage.ts'

export const NAMES = Array.from({ length: 6 }, (_, at) => `image-${at}`)
/** Minimum time between two renewals of the Lease: the operator's clock, as the proxy sees it. */
export const RETRY_PERIOD_MS = 500
/** Long enough to keep the Lease on a busy machine, and while an API server starts. A new leader would list again, and wait before it admits. */
const LEASE = {
  LEASE_DURATION: '40s',
  LEASE_RENEW_DEADLINE: '30s',
  LEASE_RETRY_PERIOD: `${RETRY_PERIOD_MS}ms`,
}

/** Runs `act`, and then checks that every image was downloaded once, whatever happened to the watches. */
export async function withOperator(cluster: Cluster, act: (stage: FaultStage) => Promise<void>): Promise<void> {
  const options = { entry: inject('operatorBundle'), concurrency: 2, lease: LEASE }
  await using stage = await FaultStage.start(cluster, options)
  await act(stage)
  await stage.world.finish()
  for (const name of NAMES) expect(stage.world.downloads(name), name).toBe(1)
}

/** Number of successful lists of images. */
export function countLists({ seen }: FaultProxy): number {
  return seen.filter(({ isList, resource, status }) => isList && resource === 'vmdiskimages' && status === 200).length
}
