import type { ImageStats } from '../../sandbox/image-server/stats.ts'
import type { World } from './world.ts'

/** Names of the images whose DataVolumes were created, in the order of their creation. */
export function starts(world: World): string[] {
  const { history } = world.mirror
  const created = history.filter(({ kind, type }) => kind === 'DataVolume' && type === 'ADDED')
  return created.flatMap(({ object }) => {
    const owner = object.metadata.ownerReferences?.find(({ kind }) => kind === 'VMDiskImage')
    return owner !== undefined && world.namespaces.includes(object.metadata.namespace ?? '') ? [owner.name] : []
  })
}

/** What the image server counted for an image. */
export function served(world: World, name: string): ImageStats {
  return world.imageServer.statsOf(world.urlOf(name))
}
