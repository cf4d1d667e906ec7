import { isImageFor } from '@open-terrain/constructs'
import { SpecReferences } from '../../images/spec-references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { DATA_SYNC, type DataSyncCaches, imagesOf, triplesOf, viewDataSync } from './caches.ts'
import type { DataSyncView } from './world.ts'

/**
 * Counts DataSyncs as references to the image that is for them. An image that does not exist yet is for all DataSyncs that name it. A DataSync
 * that was created while the image was already being deleted waits until the image is gone, and does not hold it.
 */
export class DataSyncReferences extends SpecReferences<DataSyncView> {
  constructor(client: KubeClient, { dataSyncs, images }: DataSyncCaches) {
    const isReference = (one: DataSyncView, imageKey: string) => {
      const image = images.get(imageKey)
      if (image === undefined) return true
      const triple = triplesOf(one).get(imageKey)
      const { annotations, deletionTimestamp } = image.metadata
      const isLate = deletionTimestamp !== undefined && (one.metadata.creationTimestamp ?? '') > deletionTimestamp
      return triple !== undefined && isImageFor(triple, annotations) && !isLate
    }
    super(client, { type: DATA_SYNC, store: dataSyncs, view: viewDataSync, imagesOf, isReference })
  }
}
