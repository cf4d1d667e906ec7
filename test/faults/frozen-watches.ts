import type { FaultProxy } from '../harness/fault-proxy.ts'
import type { ProxiedWatch } from '../harness/fault-proxy-watch.ts'
import type { FaultStage } from './fault-stage.ts'

/** A watch that froze without an error, and that the operator dropped. */
export interface FrozenWatch {
  readonly resource: string
  readonly ms: number
  /** Renewals of the Lease in that time: time as the operator itself measures it, however busy the machine is. */
  readonly renewals: number
}

/**
 * Freezes all watches of the operator, each at its next event, while images download, and then releases the downloads. Resolves
 * when all images are synced, and the operator has dropped all frozen watches.
 */
export async function freezeWatches({ world, proxy }: FaultStage, names: readonly string[]): Promise<FrozenWatch[]> {
  const release = world.gate.hold('https://images.example.com/')
  for (const name of names) await world.createImage(name)
  await world.untilDownloading(names[1] ?? '')
  const watches = [...proxy.watches]
  for (const watch of watches) watch.interrupt('freeze')
  release()
  for (const name of names) await world.untilSynced(name)
  const isWaitedFor = ({ frozenAt, leftAt }: ProxiedWatch) => frozenAt !== undefined && leftAt === undefined
  await world.until('all frozen watches are given up', () => !watches.some(isWaitedFor))
  return watches.flatMap((watch) => toFrozen(proxy, watch))
}

function toFrozen(proxy: FaultProxy, { request, frozenAt, leftAt }: ProxiedWatch): FrozenWatch[] {
  if (frozenAt === undefined || leftAt === undefined) return []
  const renewals = proxy.seen.filter(
    ({ verb, resource, at }) => verb === 'update' && resource === 'leases' && at > frozenAt && at < leftAt,
  )
  return [{ resource: request.resource, ms: leftAt - frozenAt, renewals: renewals.length }]
}
