import { type ReferenceSource, type References, referenceOf, referencesOf } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import { SharedLooks } from '../../kube/shared-looks.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { BY_IMAGE, DATA_SYNC, type DataSyncCaches, viewDataSync, wanted } from './caches.ts'
import type { DataSyncView } from './world.ts'

/** How DataSyncs count as references to an image: each one that wants it, as a user, since it keeps the image for those to come. */
export class DataSyncReferences implements ReferenceSource {
  readonly #live: SharedLooks<readonly DataSyncView[]>
  readonly #caches: DataSyncCaches

  constructor(client: KubeClient, caches: DataSyncCaches) {
    this.#live = new SharedLooks(async (namespace, signal) => {
      const found: DataSyncView[] = []
      for await (const one of listAll(client, DATA_SYNC, { namespace, signal, project: viewDataSync })) found.push(one)
      return found
    })
    this.#caches = caches
  }

  cached(image: ObjectKey): References {
    return this.#count(image, this.#caches.dataSyncs.find(BY_IMAGE, keyOf(image)))
  }

  /** By a list that begins after this call; those who ask meanwhile share it. Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return this.#count(image, await this.#live.take(image.namespace ?? '', signal))
  }

  onChange(listener: (imageKey: string) => void): () => void {
    return this.#caches.dataSyncs.onChange(({ before, after }) => {
      const [were, are] = [before, after].map((one) => (one === undefined ? [] : wanted(one).map(({ key }) => key)))
      if (isSame(were, are)) return
      for (const key of new Set([...(were ?? []), ...(are ?? [])])) listener(key)
    })
  }

  #count(image: ObjectKey, among: readonly DataSyncView[]): References {
    const titles = this.#caches.referringTo(image, among).map(referenceOf)
    return referencesOf(titles, titles)
  }
}
