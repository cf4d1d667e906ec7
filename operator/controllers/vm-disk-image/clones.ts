import { BY_CLONE_SOURCE, BY_TARGET } from '../../cluster/caches.ts'
import { cloneSourceKey } from '../../cluster/clone-sources.ts'
import { BY_OWNER, childrenOf, familyKey } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { Uncloned } from '../../runtime/preconditions.ts'
import type { ImageCaches } from './caches.ts'
import { LiveClones } from './live-clones.ts'

type Child = Uncloned['uncloned']

/** Who reads from the children of an image: DataVolumes of anybody, in any namespace, that are still being filled. */
export class Clones {
  readonly live: LiveClones
  readonly #caches: ImageCaches

  constructor(client: KubeClient, caches: ImageCaches) {
    this.live = new LiveClones(client)
    this.#caches = caches
  }

  /** Whether anything reads from this child. The cache answers first, since a yes is enough. */
  readonly read = async (
    { uncloned: child, look }: Uncloned,
    image: ImageView,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const sources = this.#sourcesOf(child, image)
    const { dataVolumes } = this.#caches.cluster
    if ([...sources].some((key) => dataVolumes.find(BY_CLONE_SOURCE, key).length > 0)) return true
    return look === 'live' && (await this.live.readFrom(child, sources, signal))
  }

  /** Keys of all that a clone of the image may name, as far as the caches know. */
  sourcesOfAll(image: ImageView): ReadonlySet<string> {
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
   * What a clone of this child may name: the child itself, or a DataSource that leads to it. CDI looks through a DataSource
   * once, and the clone does not tell what it found: so one that names the image's own DataSource may read from any child.
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
