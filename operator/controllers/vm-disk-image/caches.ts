import { ANNOTATIONS } from '@open-terrain/constructs'
import { type Adoptable, childName, parseAdoptable, vmDiskImage } from '@open-terrain/constructs/operator'
import { BY_CHILD, BY_NAMESPACE, byNamespace, type ClusterCaches } from '../../cluster/caches.ts'
import { type ImageView, keepImagesIn } from '../../images/image-view.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { Store } from '../../runtime/store.ts'
import { IMPORTING_INDEX, importingIndex } from './admission/downloads.ts'
import { snapshotNameFor } from './decide/target.ts'

export const IMAGE: ResourceType = vmDiskImage

/** Indexes over images, besides the one by namespace. All but the uid hold `<namespace>/<name>` of what images name, wait for or create. */
export const BY_UID = 'uid'
export const BY_SECRET = 'secret'
export const BY_CONFIG_MAP = 'configMap'
/** All caches that decisions about images rest on. */
export class ImageCaches {
  readonly images = new Store<ImageView>()
    .index(BY_NAMESPACE, byNamespace)
    .index(BY_UID, ({ metadata }) => [metadata.uid ?? ''])
    .index(BY_SECRET, (image) => named(image, 'secretRef'))
    .index(BY_CONFIG_MAP, (image) => named(image, 'certConfigMap'))
    .index(BY_CHILD, childrenOf)
  readonly cluster: ClusterCaches
  readonly reflectors: Reflectors

  constructor(cluster: ClusterCaches) {
    this.cluster = cluster
    this.reflectors = cluster.reflectors
    keepImagesIn(this.images, this.reflectors)
    cluster.dataVolumes.index(IMPORTING_INDEX, importingIndex)
  }
}

function named(image: ImageView, field: 'secretRef' | 'certConfigMap'): readonly string[] {
  const name = specified(image, field)
  return name === undefined ? [] : [siblingKey(image, name)]
}

/** The spec is not validated yet. */
function specified(
  { spec, status }: ImageView,
  field: 'secretRef' | 'certConfigMap' | 'snapshotClass',
): string | undefined {
  const fields = spec as { readonly [name in typeof field]?: unknown } | null
  const name = fields?.[field] ?? status.defaults?.[field]
  return typeof name === 'string' ? name : undefined
}

/** Returns the value of the annotation that says what an image is to adopt; empty without it. */
export function adoptionValue({ metadata }: ImageView): string {
  return metadata.annotations?.[ANNOTATIONS.adopt] ?? ''
}

/** Returns what an image is to adopt, and what it has adopted. */
export function adoptablesOf({ metadata, status: { adoption } }: ImageView): readonly Adoptable[] {
  const values = new Set([metadata.annotations?.[ANNOTATIONS.adopt], adoption?.object])
  return [...values].flatMap((value) => (value === undefined ? [] : (parseAdoptable(value) ?? [])))
}

/** Returns names that its children have or will have, and of what it adopts: an object that takes or frees such a name concerns the image. */
function childrenOf(image: ImageView): readonly string[] {
  const { metadata, status } = image
  const { revision, artifact } = status
  const names = new Set<string>()
  if (revision !== undefined) {
    names.add(childName(metadata.name, revision))
    names.add(snapshotNameFor(metadata.name, revision, specified(image, 'snapshotClass'), status))
  }
  if (artifact !== undefined) names.add(artifact.name)
  for (const { name } of adoptablesOf(image)) names.add(name)
  return Array.from(names, (name) => siblingKey(image, name))
}

/** Returns the key of the object with this name in the same namespace. */
export function siblingKey({ metadata }: KubeObject, name: string): string {
  return keyOf({ namespace: metadata.namespace, name })
}

/** Returns the images under a key of an index that still wait or download: most have their artifact, and need nothing any more. */
export function unfinished(images: Store<ImageView>, index: string, key: string): ImageView[] {
  return images.find(index, key).filter(({ status }) => status.phase !== 'Succeeded')
}
