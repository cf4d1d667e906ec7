import { LABELS } from '@open-terrain/constructs'
import { isImageFor } from '@open-terrain/constructs/operator'
import { creatorOf } from '../../images/decide/image-creator.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE, type ImageClaim, referenceOf } from '../../images/references.ts'
import { SpecReferences } from '../../images/spec-references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { isTerminating, keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { DATA_SYNC, type DataSyncCaches, imagesOf, triplesOf, usedBy, viewReferringDataSync, wanted } from './caches.ts'
import type { DataSyncView } from './world.ts'

/**
 * Counts DataSyncs as references to the image that is for them. An image that does not exist yet is for all DataSyncs that name it. They are users of
 * an image that one of them had created. An image that somebody else had created, or a DataSync that is gone, has those as references whose status
 * says that they use it, and people may delete it: it is created again. A DataSync that was created while the image was already being deleted waits
 * until the image is gone, and does not hold it.
 */
export class DataSyncReferences extends SpecReferences<DataSyncView> {
  readonly #caches: Pick<DataSyncCaches, 'dataSyncs' | 'images'>

  constructor(client: KubeClient, { dataSyncs, images }: DataSyncCaches) {
    const isOwn = (image: ImageView, imageKey: string) => {
      // An earlier version of the operator wrote no creator.
      if (creatorOf(image) === undefined) return image.metadata.labels?.[LABELS.createdBy] === DATA_SYNC.kind
      const maker = makerOf(image, dataSyncs)
      return maker !== undefined && imagesOf(maker).includes(imageKey)
    }
    const isReference = (one: DataSyncView, imageKey: string) => {
      const image = images.get(imageKey)
      if (image === undefined) return true
      const { annotations, deletionTimestamp } = image.metadata
      if (deletionTimestamp !== undefined && (one.metadata.creationTimestamp ?? '') > deletionTimestamp) return false
      const triple = triplesOf(one).get(imageKey)
      const isFor = triple !== undefined && isImageFor(triple, annotations)
      return (isFor && isOwn(image, imageKey)) || usedBy(one).includes(imageKey)
    }
    const isUser = (_one: DataSyncView, imageKey: string) => {
      const image = images.get(imageKey)
      return image === undefined || isOwn(image, imageKey)
    }
    super(client, {
      type: DATA_SYNC,
      store: dataSyncs,
      view: viewReferringDataSync,
      imagesOf,
      usedBy,
      isReference,
      isUser,
    })
    this.#caches = { dataSyncs, images }
  }

  /** One that had the image created keeps it, also when it does not want it any more. */
  claims(image: ObjectKey): readonly ImageClaim[] {
    const key = keyOf(image)
    const { dataSyncs, images } = this.#caches
    const claims = dataSyncs.find(BY_IMAGE, key).map((one): ImageClaim => {
      return { by: referenceOf(one), wants: wanted(one).get(key)?.spec ?? {} }
    })
    const found = images.get(key)
    const maker = found && makerOf(found, dataSyncs)
    if (maker === undefined || isTerminating(maker)) return claims
    return [...claims, { by: referenceOf(maker), wants: undefined, isKeeper: true }]
  }
}

/** Returns the DataSync that had the image created, if it still exists. */
function makerOf(image: ImageView, dataSyncs: DataSyncCaches['dataSyncs']): DataSyncView | undefined {
  const creator = creatorOf(image)
  const maker = creator?.kind === DATA_SYNC.kind ? dataSyncs.get(creator.key) : undefined
  return maker?.metadata.uid === creator?.uid ? maker : undefined
}
