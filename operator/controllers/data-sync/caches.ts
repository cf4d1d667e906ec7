import { dataSync, dataSyncImageName, isImageFor, parseDataSyncSpec } from '@open-terrain/constructs'
import type { StoredImage } from '../../images/decide/ensure-image.ts'
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from '../../kube/kube-object.ts'
import { keptMetadata } from '../../runtime/kept-metadata.ts'
import { onceForEach } from '../../runtime/once-for-each.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { REQUESTS, wishesOf } from './decide/wishes.ts'
import type { DataSyncView, Wish } from './world.ts'

export const DATA_SYNC: ResourceType = dataSync

/** Index over DataSyncs: `<namespace>/<name>` of the images that they want. */
export const BY_IMAGE = 'image'
export const BY_NAMESPACE = 'namespace'

/** Characters of a DataSync: its schema bounds what it says, and nothing that it says may be lost. */
const OWN_MAX = 1_000_000

/** Everything that decisions about DataSyncs rest on. */
export class DataSyncCaches {
  readonly dataSyncs = new Store<DataSyncView>()
    .index(BY_IMAGE, (one) => wanted(one).map(({ key }) => key))
    .index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? ''])
  readonly images: Readable<StoredImage>
  readonly namespaces: Readable<KubeObject>
  readonly reflectors: Reflectors

  constructor(reflectors: Reflectors, shared: Pick<DataSyncCaches, 'images' | 'namespaces'>) {
    this.reflectors = reflectors
    this.images = shared.images
    this.namespaces = shared.namespaces
    const view = (object: KubeObject) => withKnownSpec(viewDataSync(object), this.dataSyncs.get(keyOf(object.metadata)))
    reflectors.add(DATA_SYNC, this.dataSyncs, view, { keptMax: OWN_MAX })
  }

  /** Those of them that refer to an image: they want it, and it is for them. What is not there yet is for all of them. */
  referringTo(image: ObjectKey, among: readonly DataSyncView[]): DataSyncView[] {
    const key = keyOf(image)
    const found = this.images.get(key)
    return among.filter((one) =>
      wanted(one).some(
        ({ key: its, wish }) =>
          its === key && (found === undefined || isImageFor(wish.triple, found.metadata.annotations)),
      ),
    )
  }
}

export const parsedSpec = onceForEach(parseDataSyncSpec)

/** The images that a DataSync wants. None where it is being deleted, or its spec cannot be read. */
export const wanted: (dataSync: DataSyncView) => readonly { readonly key: string; readonly wish: Wish }[] = onceForEach(
  (one) => {
    const dataSync = one as DataSyncView
    const { namespace = '', deletionTimestamp } = dataSync.metadata
    const parsed = parsedSpec(dataSync.spec)
    if (!parsed.ok || deletionTimestamp !== undefined) return []
    return wishesOf(dataSync, parsed.spec).map((wish) => {
      return { key: keyOf({ namespace, name: dataSyncImageName(wish.triple) }), wish }
    })
  },
)

/** What was made of a spec stays good while only the status moves. */
function withKnownSpec(dataSync: DataSyncView, before: DataSyncView | undefined): DataSyncView {
  return before !== undefined && isSame(before.spec, dataSync.spec) ? { ...dataSync, spec: before.spec } : dataSync
}

export function viewDataSync(object: KubeObject): DataSyncView {
  const { apiVersion, kind, metadata, spec, status = {} } = object as DataSyncView
  return { apiVersion, kind, metadata: keptMetadata(metadata, { annotations: REQUESTS }), spec, status }
}
