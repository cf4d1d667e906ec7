import { starts } from '../harness/history.ts'
import { assertOneDownload, type FaultStage } from './fault-stage.ts'

export type Server = 'API server' | 'etcd'

const IMAGES = 10
/** Index of the image that downloads while the server is killed. */
const HELD = 4

/**
 * Kills a server during ten syncs, one of which ends while the server is down, and restarts it. Throws if a sync
 * failed or was downloaded twice. Returns the milliseconds from when the server was ready to the next DataVolume.
 */
export async function surviveOutage({ world }: FaultStage, server: Server, round: number): Promise<number> {
  const { controlPlane } = world.cluster
  const names = Array.from({ length: IMAGES }, (_, at) => `${nameOf(server)}-${round}-${at}`)
  const held = `${nameOf(server)}-${round}-${HELD}`
  const release = world.gate.hold(world.urlOf(held))
  for (const name of names) await world.createImage(name)
  await world.untilDownloading(held)
  const struck = server === 'etcd' ? controlPlane.etcd : controlPlane.apiServer
  await struck.kill()
  // Nothing more is written, but the history may not have received the last writes yet. A killed etcd tells of them when it is back.
  if (server === 'API server') await world.history.catchUp()
  let before = starts(world).length
  release()
  await struck.start()
  const backAt = performance.now()
  if (server === 'etcd') {
    await world.history.catchUp()
    before = starts(world).length
  }
  await world.until('somebody is admitted again', () => starts(world).length > before)
  const waited = performance.now() - backAt
  for (const name of names) assertOneDownload(world, await world.untilSynced(name))
  return waited
}

/** In the name of an image. */
function nameOf(server: Server): string {
  return server.toLowerCase().replace(' ', '-')
}
