import { type DataSyncReason, dataSync, parseDataSyncSpec } from '@open-terrain/constructs'
import { dataSyncImageName, type ImageTriple, triplesIn } from '@open-terrain/constructs/operator'
import { memoized, withKnownSpec } from '../../base/memoized.ts'
import { BY_NAMESPACE, byNamespace } from '../../cluster/caches.ts'
import { keptMetadata } from '../../cluster/kept-metadata.ts'
import { cutToFit, cutWithin, nameIn, namesAmong, parserOf, releaseGone } from '../../cluster/own-view.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { REQUESTS, wishesOf } from './decide/wishes.ts'
import type { DataSyncView, Wish } from './world.ts'

export const DATA_SYNC: ResourceType = dataSync

/** Maximum characters of a DataSync beside its status. */
const DATA_SYNC_MAX = 1_000_000

/** Bytes of a spec that is kept in any case: more than one of a hundred vms with short URLs has. */
const SMALL_BYTES = 64_000

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
    const { budget } = reflectors
    const view = (object: KubeObject) => {
      const known = withKnownSpec(viewDataSync(object), this.dataSyncs.get(keyOf(object.metadata)))
      return cutWithin(budget, known, referencesIn, SMALL_BYTES)
    }
    reflectors.add(DATA_SYNC, this.dataSyncs, view, { keptMax: 'as projected' })
    this.dataSyncs.onChange(releaseGone(budget))
  }
}

export const parsedDataSyncSpec = parserOf(parseDataSyncSpec, DATA_SYNC_MAX)

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

export function viewDataSync(object: KubeObject): DataSyncView {
  const { apiVersion, kind, metadata, spec, status = {} } = object as DataSyncView
  const kept = keptMetadata(metadata, { annotations: REQUESTS })
  return cutToFit({ apiVersion, kind, metadata: kept, spec, status }, DATA_SYNC_MAX, referencesIn)
}

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
