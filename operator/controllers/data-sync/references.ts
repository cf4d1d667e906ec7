import { isImageFor } from '@open-terrain/constructs'
import { SpecReferences } from '../../images/spec-references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { DATA_SYNC, type DataSyncCaches, imagesOf, viewDataSync, wanted } from './caches.ts'
import type { DataSyncView } from './world.ts'

/** How DataSyncs count as references to an image: those that it is for. What is not there yet is for all that want it. */
export class DataSyncReferences extends SpecReferences<DataSyncView> {
  constructor(client: KubeClient, { dataSyncs, images }: DataSyncCaches) {
    const isReference = (one: DataSyncView, imageKey: string) => {
      const image = images.get(imageKey)
      const isFor = wanted(one).some(
        ({ key, wish }) => key === imageKey && isImageFor(wish.triple, image?.metadata.annotations),
      )
      return image === undefined || isFor
    }
    super(client, { type: DATA_SYNC, store: dataSyncs, view: viewDataSync, imagesOf, isReference })
  }
}
