import { expect, inject } from 'vitest'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import type { FaultProxy } from '../harness/fault-proxy.ts'
import { FaultStage } from './fault-stage.ts'

/** Minimum time between two renewals of the Lease: the operator's clock, as the proxy sees it. */
export const RETRY_PERIOD_MS = 500
/** Long enough to keep the Lease on a busy machine, and while an API server starts. A new leader would list again, and wait before it admits. */
const LEASE = {
  LEASE_DURATION: '40s',
  LEASE_RENEW_DEADLINE: '30s',
  LEASE_RETRY_PERIOD: `${RETRY_PERIOD_MS}ms`,
}

/** Runs `act`, and then checks that each of these images was downloaded once, whatever happened to the watches. */
export async function withOperator(
  cluster: Cluster,
  names: readonly string[],
  act: (stage: FaultStage) => Promise<void>,
): Promise<void> {
  const options = { entry: inject('operatorBundle'), concurrency: 2, lease: LEASE }
  await using stage = await FaultStage.start(cluster, options)
  await act(stage)
  await stage.world.finish()
  for (const name of names) expect(stage.world.downloads(name), name).toBe(1)
}

/** Number of successful lists of images. */
export function countLists({ seen }: FaultProxy): number {
  return seen.filter(({ isList, resource, status }) => isList && resource === 'vmdiskimages' && status === 200).length
}
