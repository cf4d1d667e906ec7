import {
  type DataSyncReason,
  type DataSyncSpec,
  dataSync,
  dataSyncImageName,
  type ImageTriple,
  memoized,
  parseDataSyncSpec,
  triplesIn,
} from '@open-terrain/constructs/operator'
import { BY_NAMESPACE, byNamespace } from '../../cluster/caches.ts'
import { nameIn, namesAmong, ownKind } from '../../cluster/own-view.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { REQUESTS, wishesOf } from './decide/wishes.ts'
import type { DataSyncView, Wish } from './world.ts'

export const DATA_SYNC: ResourceType = dataSync

const OWN = ownKind<DataSyncView, DataSyncSpec>({
  type: DATA_SYNC,
  parse: parseDataSyncSpec,
  max: 1_000_000,
  matters: { annotations: REQUESTS },
  references: referencesIn,
  withoutRoom: 'cut',
  // More than one of a hundred vms with short URLs has.
  smallBytes: 64_000,
})

export const { view: viewDataSync, parsed: parsedDataSyncSpec } = OWN

/** Everything that decisions about DataSyncs are based on. */
export class DataSyncCaches {
  readonly dataSyncs = new Store<DataSyncView>().index(BY_IMAGE, imagesOf).index(BY_NAMESPACE, byNamespace)
  readonly images: Readable<ImageView>
  readonly namespaces: Readable<KubeObject>
  readonly reflectors: Reflectors

  constructor(reflectors: Reflectors, images: Readable<ImageView>, cluster: Pick<DataSyncCaches, 'namespaces'>) {
    this.reflectors = reflectors
    this.images = images
    this.namespaces = cluster.namespaces
    OWN.keepIn(this.dataSyncs, reflectors)
  }
}

/** Returns what a DataSync wants, by `<namespace>/<name>` of the image: nothing if it is being deleted or its spec is invalid. */
export const wanted = memoized((dataSync: DataSyncView): ReadonlyMap<string, Wish> => {
  const parsed = parsedDataSyncSpec(dataSync)
  if (!parsed.ok || isTerminating(dataSync)) return new Map()
  return new Map(wishesOf(dataSync, parsed.spec).map((wish) => [imageKey(dataSync, wish.triple), wish]))
})

/** Returns the images that a DataSync names, even if its spec is invalid: none if it is being deleted. */
export const triplesOf = memoized((dataSync: DataSyncView): ReadonlyMap<string, ImageTriple> => {
  if (isTerminating(dataSync)) return new Map()
  return new Map(triplesIn(dataSync.spec).map((triple) => [imageKey(dataSync, triple), triple]))
})

function imageKey({ metadata: { namespace = '' } }: DataSyncView, triple: ImageTriple): string {
  return keyOf({ namespace, name: dataSyncImageName(triple) })
}

export function imagesOf(dataSync: DataSyncView): readonly string[] {
  return [...triplesOf(dataSync).keys()]
}

/**
 * Returns the images that it uses, as its status says: all but those that are not what it wants, or that do not exist yet. Where the status says nothing
 * of images, as the spec is new or cannot be read, it may use all that it names.
 */
export const usedBy = memoized((dataSync: DataSyncView): readonly string[] => {
  const { images } = dataSync.status
  if (images === undefined) return imagesOf(dataSync)
  const { namespace = '' } = dataSync.metadata
  const used = images.filter(({ reason }) => !UNUSED.has(reason))
  return used.map(({ name }) => keyOf({ namespace, name }))
})

const UNUSED: ReadonlySet<string> = new Set<DataSyncReason>(['NameConflict', 'ImageMissing'])

/** Keeps only what makes a DataSync a reference, because a list contains all of a namespace. */
export function viewReferringDataSync(object: KubeObject): DataSyncView {
  const { apiVersion, kind, metadata, spec, status } = viewDataSync(object)
  const images = status.images?.map(({ vm, name, phase, reason }) => ({ vm, name, phase, reason }))
  return { apiVersion, kind, metadata, spec: referencesIn(spec), status: images === undefined ? {} : { images } }
}

/** What the names of images are made from. */
function referencesIn(spec: unknown): object {
  const { workspaceId, version, vms } = (spec ?? {}) as Readonly<Record<string, unknown>>
  const names = namesAmong(vms, (vm) => vm['name'])
  return { workspaceId: nameIn(workspaceId), version: nameIn(version), vms: names.map((name) => ({ name })) }
}
