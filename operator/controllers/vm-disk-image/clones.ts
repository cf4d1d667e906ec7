import { parseAdoptable, virtualMachine } from '@open-terrain/constructs/operator'
import { BY_CHILD, BY_CLONE_SOURCE, BY_TARGET } from '../../cluster/caches.ts'
import { type CloneSource, cloneSourceKey, unfinishedCloneOf } from '../../cluster/clone-sources.ts'
import { BY_OWNER, childrenOf, controllerOfKind, familyKey, ownerAmong } from '../../cluster/ownership.ts'
import { sourceOfClaim, targetOfDataSource, viewDataVolume } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type ReferenceSource, type References, referenceOf, referencesOf } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { SharedReads } from '../../kube/shared-reads.ts'
import type { Uncloned } from '../../runtime/preconditions.ts'
import type { ImageCaches } from './caches.ts'

/** The label of CDI's helper claims, which have no owner while they move a clone across namespaces. */
const CLONE_HELPER = 'cdi.kubevirt.io/OwnedByUID'
/** Characters; more than a kind, a namespace and a name can have. A longer key names nothing that exists. */
const SOURCE_MAX = 400

/**
 * Finds what reads from the children of an image: unfinished DataVolumes of anybody, in any namespace. They count as references to the
 * image and as its users, except those of machines: machines count themselves. Before a decision that cannot be undone, live lists are
 * read. That of clones covers the whole cluster, and many images may be deleted at once: they share the lists.
 */
export class Clones implements ReferenceSource {
  readonly #caches: ImageCaches
  readonly #live: SharedReads<readonly LiveClone[]>
  /** Names that helper claims of a namespace read from. */
  readonly #helpers: SharedReads<ReadonlySet<string>>

  constructor(client: KubeClient, caches: ImageCaches) {
    this.#caches = caches
    this.#live = new SharedReads(async (_all, signal) =>
      (await listWhole(client, DATA_VOLUME, { signal, project: viewClone })).flat(),
    )
    this.#helpers = new SharedReads((namespace, signal) => listHelpers(client, namespace, signal))
  }

  /** Reports whether anything reads from this child. Asks the cache first, because its yes is enough. Throws ApiError. */
  readonly read = async (
    { uncloned: child, read }: Uncloned,
    image: ImageView,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const sources = this.#sourcesOf([child], image)
    const { dataVolumes } = this.#caches.cluster
    if ([...sources].some((key) => dataVolumes.find(BY_CLONE_SOURCE, key).length > 0)) return true
    if (read === 'cached') return false
    if ((await this.#liveOf(sources, signal)).length > 0) return true
    return (await this.#helpers.take(child.namespace, signal)).has(child.name)
  }

  cached(image: ObjectKey): References {
    const { dataVolumes } = this.#caches.cluster
    // Mostly nothing in the cluster is being cloned.
    if (dataVolumes.isEmpty(BY_CLONE_SOURCE)) return referencesOf([])
    const clones = [...this.#sourcesOfAll(image)].flatMap((source) => dataVolumes.find(BY_CLONE_SOURCE, source))
    return referencesOf(clones.filter((clone) => !isOfMachine(clone)).map(referenceOf))
  }

  /** Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    const sources = this.#sourcesOfAll(image)
    const clones = sources.size === 0 ? [] : await this.#liveOf(sources, signal)
    return referencesOf(clones.filter((clone) => !clone.isOfMachine).map(({ title }) => title))
  }

  async #liveOf(sources: ReadonlySet<string>, signal: AbortSignal): Promise<readonly LiveClone[]> {
    return (await this.#live.take('', signal)).filter(({ source }) => sources.has(source))
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
    if (image !== undefined) return keyOf(image.metadata)
    const isIt = (one: ImageView) => adoptedBy(one).some((object) => object.kind === kind && object.name === name)
    const adopter = images.find(BY_CHILD, key).find(isIt)
    return adopter && keyOf(adopter.metadata)
  }

  /** Returns the keys of all sources that a clone of the image may name, according to the caches. */
  #sourcesOfAll(key: ObjectKey): ReadonlySet<string> {
    const { images, cluster } = this.#caches
    const image = images.get(keyOf(key))
    if (image === undefined) return new Set()
    const { uid = '', namespace = '' } = image.metadata
    const family = familyKey(namespace, uid)
    const { snapshots, dataVolumes } = cluster
    const owned: readonly KubeObject[] = [...snapshots.find(BY_OWNER, family), ...dataVolumes.find(BY_OWNER, family)]
    const children = childrenOf(image, owned).map(({ kind, metadata: { name } }) => ({ kind, namespace, name }))
    return this.#sourcesOf([...children, ...adoptedBy(image)], image)
  }

  /**
   * Returns what a clone of these children may name: a child itself, or a DataSource that leads to it. CDI resolves a DataSource
   * once, and the clone does not show the result: one that names the image's own DataSource may read from any child.
   */
  #sourcesOf(children: readonly Uncloned['uncloned'][], { metadata }: ImageView): ReadonlySet<string> {
    if (children.length === 0) return new Set()
    const alias = { kind: 'DataSource', namespace: metadata.namespace ?? '', name: metadata.name }
    const direct = [...children, alias].map(cloneSourceKey)
    const indirect = direct.flatMap((key) => this.#caches.cluster.dataSources.find(BY_TARGET, key))
    const others = indirect.map(({ metadata: { namespace = '', name } }) =>
      cloneSourceKey({ kind: 'DataSource', namespace, name }),
    )
    return new Set([...direct, ...others])
  }
}

/** What clones of the image may read from although it is no child of it. */
function adoptedBy({ metadata: { namespace = '' }, status: { artifact, adoption } }: ImageView) {
  const named = adoption?.uid === undefined ? undefined : parseAdoptable(adoption.object)
  const isSnapshot = named?.kind === 'VolumeSnapshot'
  const taken = named && { kind: isSnapshot ? named.kind : 'PersistentVolumeClaim', namespace, name: named.name }
  const made = artifact?.adoptedUID === undefined ? undefined : { kind: artifact.kind, namespace, name: artifact.name }
  return [taken, made].filter((one) => one !== undefined)
}

/** A DataVolume of anybody that is still being cloned, and the key of what it reads from. */
type LiveClone = ReturnType<typeof viewClone>[number]

function viewClone(object: KubeObject) {
  const sources = unfinishedCloneOf(viewDataVolume(object)).filter(({ length }) => length <= SOURCE_MAX)
  return sources.map((source) => ({ title: referenceOf(object), source, isOfMachine: isOfMachine(object) }))
}

/** Whether the clone is a disk of a machine of ours. */
function isOfMachine(clone: KubeObject): boolean {
  return controllerOfKind(clone, virtualMachine) !== undefined
}

async function listHelpers(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Set<string>> {
  const helpers = { signal, namespace, labelSelector: CLONE_HELPER, project: sourceOfClaim }
  const names = await listWhole(client, PERSISTENT_VOLUME_CLAIM, helpers)
  return new Set(names.filter((name) => name !== undefined))
}
