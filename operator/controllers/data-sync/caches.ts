import { dataSync, dataSyncImageName, type ImageTriple, parseDataSyncSpec, triplesIn } from '@open-terrain/constructs'
import { BY_NAMESPACE, byNamespace } from '../../cluster/caches.ts'
import { keptMetadata } from '../../cluster/kept-metadata.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { memoized, withKnownSpec } from '../../runtime/memoized.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { REQUESTS, wishesOf } from './decide/wishes.ts'
import type { DataSyncView, Wish } from './world.ts'

export const DATA_SYNC: ResourceType = dataSync

/** Maximum number of characters kept of a DataSync: its schema bounds its content, and none of it may be lost. */
const OWN_MAX = 1_000_000

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
    const view = (object: KubeObject) => withKnownSpec(viewDataSync(object), this.dataSyncs.get(keyOf(object.metadata)))
    reflectors.add(DATA_SYNC, this.dataSyncs, view, { keptMax: OWN_MAX })
  }
}

export const parsedDataSyncSpec = memoized(parseDataSyncSpec)

/** Returns what a DataSync wants, by `<namespace>/<name>` of the image: nothing if it is being deleted or its spec is invalid. */
export const wanted = memoized((dataSync: DataSyncView): ReadonlyMap<string, Wish> => {
  const parsed = parsedDataSyncSpec(dataSync.spec)
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

export function viewDataSync(object: KubeObject): DataSyncView {
  const { apiVersion, kind, metadata, spec, status = {} } = object as DataSyncView
  return { apiVersion, kind, metadata: keptMetadata(metadata, { annotations: REQUESTS }), spec, status }
}
