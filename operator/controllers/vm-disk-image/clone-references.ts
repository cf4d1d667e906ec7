import { BY_CLONE_SOURCE } from '../../cluster/caches.ts'
import { type CloneSource, unfinishedCloneOf } from '../../cluster/clone-sources.ts'
import { ownerAmong } from '../../cluster/ownership.ts'
import { targetOfDataSource } from '../../cluster/views.ts'
import { type ReferenceSource, type References, referenceOf, referencesOf } from '../../images/references.ts'
import { keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import type { ImageCaches } from './caches.ts'
import type { Clones } from './clones.ts'
import { isOfMachine } from './live-clones.ts'

/** How clones in flight count as references to an image, and as its users: DataVolumes of anybody but the machines, which count themselves. */
export class CloneReferences implements ReferenceSource {
  readonly #caches: ImageCaches
  readonly #clones: Clones

  constructor(caches: ImageCaches, clones: Clones) {
    this.#caches = caches
    this.#clones = clones
  }

  cached(image: ObjectKey): References {
    const { dataVolumes } = this.#caches.cluster
    const clones = [...this.#sourcesOf(image)].flatMap((source) => dataVolumes.find(BY_CLONE_SOURCE, source))
    return referencesOf(clones.filter((clone) => !isOfMachine(clone)).map(referenceOf))
  }

  /** Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    const sources = this.#sourcesOf(image)
    const clones = sources.size === 0 ? [] : await this.#clones.live.of(sources, signal)
    return referencesOf(clones.filter((clone) => !clone.isOfMachine).map(({ title }) => title))
  }

  onChange(listener: (imageKey: string) => void): () => void {
    return this.#caches.cluster.dataVolumes.onChange(({ before, after }) => {
      const [was] = before === undefined ? [] : unfinishedCloneOf(before)
      const [is] = after === undefined ? [] : unfinishedCloneOf(after)
      const source = before?.cloneOf ?? after?.cloneOf
      if (was === is || source === undefined) return
      const image = this.#imageOf(source)
      if (image !== undefined) listener(image)
    })
  }

  #sourcesOf(key: ObjectKey): ReadonlySet<string> {
    const image = this.#caches.images.get(keyOf(key))
    return image === undefined ? new Set() : this.#clones.sourcesOfAll(image)
  }

  /** Key of the image that a clone reads from, if it is one's. */
  #imageOf({ kind, namespace, name }: CloneSource): string | undefined {
    const { images, cluster } = this.#caches
    const { snapshots, dataVolumes, dataSources } = cluster
    const key = keyOf({ namespace, name })
    if (kind === 'DataSource') {
      if (images.get(key) !== undefined) return key
      const alias = dataSources.get(key)
      const target = alias && targetOfDataSource(alias)
      return target === undefined || target.kind === 'DataSource' ? undefined : this.#imageOf(target)
    }
    const child = kind === 'VolumeSnapshot' ? snapshots.get(key) : dataVolumes.get(key)
    const image = child && ownerAmong(child, images)
    return image && keyOf(image.metadata)
  }
}
