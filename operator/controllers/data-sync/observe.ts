import type { Policy } from '@open-terrain/constructs/operator'
import { BY_IMAGE } from '../../images/references.ts'
import { isTerminating } from '../../kube/kube-object.ts'
import { type DataSyncCaches, parsedDataSyncSpec, wanted } from './caches.ts'
import type { DataSyncView, DataSyncWorld, WantedImage } from './world.ts'

/** Observes a DataSync from caches alone, without a request to the API server. */
export function observeDataSync(
  dataSync: DataSyncView,
  caches: DataSyncCaches,
  policy: Partial<Policy>,
  refusal?: string,
): DataSyncWorld {
  const { namespace = '', uid } = dataSync.metadata
  return {
    dataSync,
    spec: parsedDataSyncSpec(dataSync),
    namespaceTerminating: isTerminating(caches.namespaces.get(namespace)),
    images: [...wanted(dataSync)].map(([key, wish]): WantedImage => {
      const others = caches.dataSyncs.find(BY_IMAGE, key).filter(({ metadata }) => metadata.uid !== uid)
      return { wish, image: caches.images.get(key), others: others.flatMap((other) => wanted(other).get(key) ?? []) }
    }),
    refusal,
    policy,
  }
}
