import type { ImageStats } from '../../sandbox/image-server/stats.ts'
import type { Image } from './kinds.ts'
import type { World } from './world.ts'

/** Names of the images whose DataVolumes were created, in the order of their creation. */
export function starts(world: World): string[] {
  const created = world.history.events.filter(({ kind, type }) => kind === 'DataVolume' && type === 'ADDED')
  return created.flatMap(({ object }) => {
    const owner = object.metadata.ownerReferences?.find(({ kind }) => kind === 'VMDiskImage')
    return owner !== undefined && world.namespaces.includes(object.metadata.namespace ?? '') ? [owner.name] : []
  })
}

/** The image server's counts for an image. */
export function served(world: World, name: string): ImageStats {
  return world.imageServer.statsOf(world.urlOf(name))
}

/**
 * Number of status writes that only report progress. The limit on requests does not count these: a newer queue position (at most one write a second
 * for all images together, however many wait), and the progress of a download.
 */
export function sideWrites(world: World): number {
  const last = new Map<string, Image>()
  let writes = 0
  for (const { kind, object } of world.history.events) {
    if (kind !== 'VMDiskImage') continue
    const image = object as Image
    const before = last.get(image.metadata.uid ?? '')
    last.set(image.metadata.uid ?? '', image)
    const isWaiting = before?.status?.phase === 'Queued' && image.status?.phase === 'Queued'
    const isSameTicket = before?.status?.ticket === image.status?.ticket
    const isPlaceReported = before?.status?.queuePositionTime !== image.status?.queuePositionTime
    if (isWaiting && isSameTicket && isPlaceReported) writes += 1
    // No field that the history keeps has changed, so the write reported progress.
    const isDownloading = before?.status?.phase === 'Syncing' && image.status?.phase === 'Syncing'
    if (isDownloading && JSON.stringify(before.status) === JSON.stringify(image.status)) writes += 1
  }
  return writes
}
