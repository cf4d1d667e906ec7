import { starts } from '../harness/history.ts'
import { assertOneDownload, type FaultStage } from './fault-stage.ts'

export type Server = 'API server' | 'etcd'

const IMAGES = 20
/** Downloads while the server dies. */
const HELD = 4

/**
 * Kills one of the servers in the middle of twenty syncs, one of which ends while it is away, and starts it again. Throws
 * where a sync failed for it, or something was downloaded twice. Returns the milliseconds from when it was ready to the
 * next DataVolume.
 */
export async function surviveOutage({ world }: FaultStage, server: Server, round: number): Promise<number> {
  const { controlPlane } = world.cluster
  const names = Array.from({ length: IMAGES }, (_, at) => `image-${round}-${at}`)
  const held = `image-${round}-${HELD}`
  const release = world.gate.hold(world.urlOf(held))
  for (const name of names) await world.createImage(name)
  await world.untilDownloading(held)
  const struck = server === 'etcd' ? controlPlane.etcd : controlPlane.apiServer
  await struck.kill()
  // Nothing more is written, but the last of it may not have been told yet.
  if (server === 'API server') await world.history.catchUp()
  const before = starts(world).length
  release()
  await struck.start()
  const backAt = performance.now()
  await world.until('somebody is admitted again', () => starts(world).length > before)
  const waited = performance.now() - backAt
  for (const name of names) assertOneDownload(world, await world.untilSynced(name))
  return waited
}
