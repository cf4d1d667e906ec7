import { BY_IMAGE, type DataSyncCaches, parsedSpec, wanted } from './caches.ts'
import type { DataSyncView, ImageWorld, World } from './world.ts'

/** Where an observation comes from. Nothing here asks the API server: caches hold all of it. */
export function observeDataSync(dataSync: DataSyncView, caches: DataSyncCaches, refusal: string | undefined): World {
  const { namespace = '', uid } = dataSync.metadata
  return {
    dataSync,
    spec: parsedSpec(dataSync.spec),
    namespaceTerminating: caches.namespaces.get(namespace)?.metadata.deletionTimestamp !== undefined,
    images: wanted(dataSync).map(({ key, wish }): ImageWorld => {
      const others = caches.dataSyncs.find(BY_IMAGE, key).filter(({ metadata }) => metadata.uid !== uid)
      return {
        wish,
        image: caches.images.get(key),
        others: others.flatMap((other) => wanted(other).flatMap((one) => (one.key === key ? [one.wish] : []))),
      }
    }),
    refusal,
  }
}
