import { childName, LABELS, vmDiskImage } from '@open-terrain/constructs'
import type { KubeClient, Selection } from '../../kube/kube-client.ts'
import { controllerOf, type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  DATA_SOURCE,
  DATA_VOLUME,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../kube/resource-types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { Reflector } from '../../runtime/reflector.ts'
import { Store, type Stored } from '../../runtime/store.ts'
import { IMPORTING_INDEX, importingIndex } from './downloads.ts'
import { cloneSourceKey, unfinishedCloneOf } from './references.ts'
import { snapshotNameFor } from './target.ts'
import {
  type ClaimView,
  type DataSourceView,
  type DataVolumeView,
  type ImageView,
  isDefaultClass,
  type MetaView,
  type PodView,
  type SnapshotView,
  targetOfDataSource,
  viewClaim,
  viewDataSource,
  viewDataVolume,
  viewImage,
  viewMeta,
  viewPod,
  viewSecret,
  viewSnapshot,
  viewStorageClass,
} from './views.ts'

export const IMAGE: ResourceType = {
  group: vmDiskImage.group,
  version: vmDiskImage.version,
  kind: vmDiskImage.kind,
  plural: vmDiskImage.plural,
  namespaced: true,
}

/** Indexes over images; all but the uid are `<namespace>/<name>` of what they name, wait for or make. */
export const BY_NAMESPACE = 'namespace'
export const BY_UID = 'uid'
export const BY_SECRET = 'secret'
export const BY_CONFIG_MAP = 'configMap'
export const BY_CHILD = 'child'
/** Index over DataVolumes: what an unfinished clone reads from. */
export const BY_CLONE_SOURCE = 'clone source'
/** Index over DataSources: what they point to, as clones would name it. */
export const BY_TARGET = 'target'
/** Index over children: the uid of the image that they were made for. */
export const BY_IMAGE = 'image'

/** Local copies of everything that decisions about images rest on. They are kept up to date by every replica, leading or not. */
export class Caches {
  readonly images = new Store<ImageView>()
    .index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? ''])
    .index(BY_UID, ({ metadata }) => [metadata.uid ?? ''])
    .index(BY_SECRET, (image) => named(image, 'secretRef'))
    .index(BY_CONFIG_MAP, (image) => named(image, 'certConfigMap'))
    .index(BY_CHILD, childrenOf)
  readonly dataVolumes = new Store<DataVolumeView>()
    .index(BY_IMAGE, byOwner)
    .index(IMPORTING_INDEX, importingIndex)
    .index(BY_CLONE_SOURCE, unfinishedCloneOf)
  readonly claims = new Store<ClaimView>().index(BY_IMAGE, byLabel)
  readonly snapshots = new Store<SnapshotView>().index(BY_IMAGE, byOwner)
  readonly dataSources = new Store<DataSourceView>().index(BY_TARGET, targetOf)
  readonly pods = new Store<PodView>().index(BY_IMAGE, byLabel)
  readonly secrets = new Store<MetaView>()
  readonly configMaps = new Store<MetaView>()
  readonly namespaces = new Store<MetaView>()
  readonly storageClasses = new Store<MetaView>().index('default', (item) => (isDefaultClass(item) ? ['yes'] : []))
  readonly snapshotClasses = new Store<MetaView>()
  readonly definitions = new Store<MetaView>()
  readonly reflectors: readonly Reflector<Stored>[]
  readonly #options: CachesOptions

  constructor(options: CachesOptions) {
    this.#options = options
    const metadataOnly = { metadataOnly: true }
    this.reflectors = [
      this.#reflect(IMAGE, this.images, viewImage),
      this.#reflect(DATA_VOLUME, this.dataVolumes, viewDataVolume),
      this.#reflect(PERSISTENT_VOLUME_CLAIM, this.claims, viewClaim),
      this.#reflect(VOLUME_SNAPSHOT, this.snapshots, viewSnapshot),
      this.#reflect(DATA_SOURCE, this.dataSources, viewDataSource),
      this.#reflect(POD, this.pods, viewPod, { labelSelector: LABELS.imageUid }),
      this.#reflect(SECRET, this.secrets, viewSecret, metadataOnly),
      this.#reflect(CONFIG_MAP, this.configMaps, viewMeta, metadataOnly),
      this.#reflect(NAMESPACE, this.namespaces, viewMeta, metadataOnly),
      this.#reflect(STORAGE_CLASS, this.storageClasses, viewStorageClass, metadataOnly),
      this.#reflect(VOLUME_SNAPSHOT_CLASS, this.snapshotClasses, viewMeta, metadataOnly),
      this.#reflect(CUSTOM_RESOURCE_DEFINITION, this.definitions, viewMeta, metadataOnly),
    ]
    // A kind that was just installed is served a moment later; looking at once, and again on its next event, finds it.
    this.definitions.onChange(({ key }) => {
      for (const reflector of this.reflectors) {
        if (key === `${reflector.type.plural}.${reflector.type.group}` && reflector.installed !== true) reflector.poke()
      }
    })
  }

  /** Keeps all copies up to date until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.run(signal)))
  }

  /** Resolves when all copies are complete. */
  async synced(): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.synced))
  }

  isInstalled(type: ResourceType): boolean {
    return this.#of(type)?.installed === true
  }

  /** What is kept of an object, by kind and `namespace/name`. */
  readonly get = (type: ResourceType, key: string): KubeObject | undefined => {
    return this.#of(type)?.store.get(key) as KubeObject | undefined
  }

  /** Takes in the API server's answer to a write of ours. */
  readonly observeWrite = (type: ResourceType, object: KubeObject): void => {
    this.#of(type)?.observeWrite(object)
  }

  #of(type: ResourceType): Reflector<Stored> | undefined {
    return this.reflectors.find((reflector) => reflector.type === type)
  }

  #reflect<T extends Stored>(
    type: ResourceType,
    store: Store<T>,
    project: (object: KubeObject) => T,
    selection: Selection = {},
  ): Reflector<Stored> {
    const { onRelist, ...options } = this.#options
    const reflector = new Reflector<T>({
      ...options,
      type,
      store,
      project,
      selection,
      onRelist: () => onRelist(type.kind),
    })
    return reflector as unknown as Reflector<Stored>
  }
}

export interface CachesOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly onRelist: (kind: string) => void
}

function targetOf(dataSource: DataSourceView): readonly string[] {
  const target = targetOfDataSource(dataSource)
  return target === undefined ? [] : [cloneSourceKey(target)]
}

function named(image: ImageView, field: 'secretRef' | 'certConfigMap'): readonly string[] {
  const name = specified(image, field)
  return name === undefined ? [] : [siblingKey(image, name)]
}

/** The spec is unchecked. */
function specified(
  { spec, status }: ImageView,
  field: 'secretRef' | 'certConfigMap' | 'snapshotClass',
): string | undefined {
  const fields = spec as { readonly [name in typeof field]?: unknown } | null
  const name = fields?.[field] ?? status.defaults?.[field]
  return typeof name === 'string' ? name : undefined
}

/** Names that its children have or will have: what takes or frees such a name concerns it. */
function childrenOf(image: ImageView): readonly string[] {
  const { metadata, status } = image
  const { revision, artifact } = status
  const wanted =
    revision === undefined
      ? []
      : [
          childName(metadata.name, revision),
          snapshotNameFor(metadata.name, revision, specified(image, 'snapshotClass'), status),
        ]
  const names = artifact === undefined ? wanted : [...wanted, artifact.name]
  return [...new Set(names)].map((name) => siblingKey(image, name))
}

function byOwner(object: KubeObject): readonly string[] {
  const owner = controllerOf(object)
  return owner?.kind === IMAGE.kind ? [owner.uid] : []
}

function byLabel({ metadata }: KubeObject): readonly string[] {
  const uid = metadata.labels?.[LABELS.imageUid]
  return uid === undefined ? [] : [uid]
}

/** Key of a namesake in the same namespace. */
export function siblingKey({ metadata }: KubeObject, name: string): string {
  return keyOf({ ...(metadata.namespace !== undefined && { namespace: metadata.namespace }), name })
}
