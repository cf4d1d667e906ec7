import { BY_CLONE_SOURCE, BY_TARGET } from '../../cluster/caches.ts'
import { type CloneSource, cloneSourceKey, unfinishedCloneOf } from '../../cluster/clone-sources.ts'
import { BY_OWNER, childrenOf, familyKey, ownerAmong } from '../../cluster/ownership.ts'
import { targetOfDataSource } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type ReferenceSource, type References, referenceOf, referencesOf } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import type { Uncloned } from '../../runtime/preconditions.ts'
import type { ImageCaches } from './caches.ts'
import { isOfMachine, LiveClones } from './live-clones.ts'

type Child = Uncloned['uncloned']

/**
 * Finds what reads from the children of an image: unfinished DataVolumes of anybody, in any namespace. They count as references to the
 * image and as its users, except those of machines: machines count themselves.
 */
export class Clones implements ReferenceSource {
  readonly #live: LiveClones
  readonly #caches: ImageCaches

  constructor(client: KubeClient, caches: ImageCaches) {
    this.#live = new LiveClones(client)
    this.#caches = caches
  }

  /** Reports whether anything reads from this child. Asks the cache first, because its yes is enough. */
  readonly read = async (
    { uncloned: child, look }: Uncloned,
    image: ImageView,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const sources = this.#sourcesOf(child, image)
    const { dataVolumes } = this.#caches.cluster
    if ([...sources].some((key) => dataVolumes.find(BY_CLONE_SOURCE, key).length > 0)) return true
    return look === 'live' && (await this.#live.readFrom(child, sources, signal))
  }

  cached(image: ObjectKey): References {
    const { dataVolumes } = this.#caches.cluster
    const clones = [...this.#sourcesOfAll(image)].flatMap((source) => dataVolumes.find(BY_CLONE_SOURCE, source))
    return referencesOf(clones.filter((clone) => !isOfMachine(clone)).map(referenceOf))
  }

  /** Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    const sources = this.#sourcesOfAll(image)
    const clones = sources.size === 0 ? [] : await this.#live.of(sources, signal)
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

  /** Returns the key of the image that a clone with this source reads from, if there is one. */
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

  /** Returns the keys of all sources that a clone of the image may name, according to the caches. */
  #sourcesOfAll(key: ObjectKey): ReadonlySet<string> {
    const image = this.#caches.images.get(keyOf(key))
    if (image === undefined) return new Set()
    return new Set(this.#childrenOf(image).flatMap((child) => [...this.#sourcesOf(child, image)]))
  }

  #childrenOf(image: ImageView): readonly Child[] {
    const { uid = '', namespace = '' } = image.metadata
    const { dataVolumes, snapshots } = this.#caches.cluster
    const family = familyKey(namespace, uid)
    const children: readonly KubeObject[] = [...snapshots.find(BY_OWNER, family), ...dataVolumes.find(BY_OWNER, family)]
    return childrenOf(image, children).map(({ kind, metadata: { name } }) => ({ kind, namespace, name }))
  }

  /**
   * Returns what a clone of this child may name: the child itself, or a DataSource that leads to it. CDI resolves a DataSource
   * once, and the clone does not show the result: one that names the image's own DataSource may read from any child.
   */
  #sourcesOf(child: Child, { metadata }: ImageView): ReadonlySet<string> {
    const alias = { kind: 'DataSource', namespace: child.namespace, name: metadata.name }
    const direct = [child, alias].map(cloneSourceKey)
    const indirect = direct.flatMap((key) => this.#caches.cluster.dataSources.find(BY_TARGET, key))
    const others = indirect.map(({ metadata: { namespace = '', name } }) =>
      cloneSourceKey({ kind: 'DataSource', namespace, name }),
    )
    return new Set([...direct, ...others])
  }
}
