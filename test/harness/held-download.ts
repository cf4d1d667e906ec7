import type { World } from './world.ts'

/** Creates an image, and resolves when its importer runs. It receives no data until the returned function is called. */
export async function heldDownload(world: World, name: string): Promise<() => void> {
  const release = world.gate.hold(world.urlOf(name))
  await world.createImage(name)
  await world.untilDownloading(name)
  return release
}
