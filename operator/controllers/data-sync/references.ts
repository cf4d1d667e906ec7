import { isImageFor } from '@open-terrain/constructs'
import { BY_IMAGE, type ReferenceSource, type References, referenceOf, referencesOf } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { SharedLooks } from '../../kube/shared-looks.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { DATA_SYNC, type DataSyncCaches, imagesOf, triplesOf, viewDataSync } from './caches.ts'
import type { DataSyncView } from './world.ts'

/**
 * Counts DataSyncs as references to the image that is for them. An image that does not exist yet is for all DataSyncs that name it. A DataSync
 * that was created while the image was already being deleted waits until the image is gone, and does not hold it. Each DataSync counts as a user,
 * since it keeps the image for later ones.
 */
export class DataSyncReferences implements ReferenceSource {
  readonly #caches: Pick<DataSyncCaches, 'dataSyncs' | 'images'>
  readonly #live: SharedLooks<readonly DataSyncView[]>

  constructor(client: KubeClient, caches: Pick<DataSyncCaches, 'dataSyncs' | 'images'>) {
    this.#caches = caches
    this.#live = new SharedLooks((namespace, signal) =>
      listWhole(client, DATA_SYNC, { namespace, signal, project: viewDataSync }),
    )
  }

  cached(image: ObjectKey): References {
    return this.#count(image, this.#caches.dataSyncs.find(BY_IMAGE, keyOf(image)))
  }

  /** Counts from a list that begins after this call, which concurrent callers share. Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return this.#count(image, await this.#live.take(image.namespace ?? '', signal))
  }

  onChange(listener: (imageKey: string) => void): () => void {
    return this.#caches.dataSyncs.onChange(({ before, after }) => {
      const were = before === undefined ? [] : imagesOf(before)
      const are = after === undefined ? [] : imagesOf(after)
      if (isSame(were, are)) return
      for (const key of new Set([...were, ...are])) listener(key)
    })
  }

  #count(image: ObjectKey, among: readonly DataSyncView[]): References {
    const key = keyOf(image)
    const referring = among.filter((one) => imagesOf(one).includes(key) && this.#isReference(one, key))
    return referencesOf(referring.map(referenceOf))
  }

  #isReference(one: DataSyncView, imageKey: string): boolean {
    const image = this.#caches.images.get(imageKey)
    if (image === undefined) return true
    const triple = triplesOf(one).get(imageKey)
    const { annotations, deletionTimestamp } = image.metadata
    const isLate = deletionTimestamp !== undefined && (one.metadata.creationTimestamp ?? '') > deletionTimestamp
    return triple !== undefined && isImageFor(triple, annotations) && !isLate
  }
}
