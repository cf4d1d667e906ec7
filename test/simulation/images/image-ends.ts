import { LABELS } from '@open-terrain/constructs'
import type { Artifact } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import { type DataSource, type DataVolume, type Image, reasonOf } from '../../harness/kinds.ts'
import { imageOwner, isDeletion } from '../chronicle.ts'
import type { Ends } from '../kind.ts'
import type { World } from '../world.ts'

/** The end state of an image, without uids and times. Names of children contain the revision. */
interface ImageEnd {
  readonly stands: string
  /** What clones of it read, and the alias that points to it. */
  readonly serves: readonly string[]
  /** Its other children. */
  readonly keeps: readonly string[]
}

const CHILDREN = [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT, DATA_SOURCE]
const UNDECIDED: ImageEnd = { stands: 'waits, or was synced before', serves: [], keeps: [] }

/**
 * What an image keeps besides what serves depends on whether people or the operator came first: a volume that is deleted before its snapshot was
 * taken is downloaded again, but not after that.
 * @param isUndecided reports whether its end depends on which came first, an edit or the end of a download
 */
export function imageEnds({ chronicle, cluster, kinds }: World, isUndecided: (image: Image) => boolean): Ends {
  const children = CHILDREN.flatMap((type) => cluster.admin.list(type).items)
  const whole: Record<string, ImageEnd> = {}
  const decided: Record<string, ImageEnd> = {}
  for (const image of chronicle.images.values()) {
    const end = imageEnd(
      image,
      children.filter((child) => ownerOf(child) === image.metadata.uid),
    )
    const title = `image ${keyOf(image.metadata)}`
    whole[title] = end
    if (kinds.some((kind) => kind.rest.isUndecided?.(image) === true)) continue
    decided[title] = isUndecided(image)
      ? UNDECIDED
      : { ...end, ...(mayBeOfEitherKind(image) && anyKind(end)), keeps: [] }
  }
  return { whole, decided }
}

/** A snapshot still serves after its class was removed from the spec. If it was not taken before that, the volume serves. */
function mayBeOfEitherKind({ metadata: { generation = 1 }, spec }: Image): boolean {
  return spec.snapshotClass === undefined && generation > 1
}

function anyKind({ stands }: ImageEnd): Partial<ImageEnd> {
  return { stands: stands.replace(/VolumeSnapshot|PersistentVolumeClaim/, 'artifact'), serves: [] }
}

function imageEnd(image: Image, children: readonly KubeObject[]): ImageEnd {
  const { phase = '', artifact } = image.status ?? {}
  const isServing = (child: KubeObject) => phase === 'Succeeded' && artifact !== undefined && isPartOf(child, artifact)
  // The snapshot class that came first determines the name of the snapshot.
  const inGeneral = (child: KubeObject) => described(child).replaceAll(` ${artifact?.name}`, ' (its artifact)')
  return {
    stands: `${phase}, ${phase === 'Succeeded' ? `${artifact?.kind} of ${artifact?.revision}` : reasonOf(image)}`,
    serves: children.filter(isServing).map(inGeneral).toSorted(),
    keeps: children
      .filter((child) => !isServing(child))
      .map(described)
      .toSorted(),
  }
}

/** A claim serves together with the DataVolume that owns it and has its name. */
function isPartOf({ kind, metadata }: KubeObject, artifact: Artifact): boolean {
  const serving = artifact.kind === VOLUME_SNAPSHOT.kind ? [artifact.kind] : [artifact.kind, DATA_VOLUME.kind]
  return kind === DATA_SOURCE.kind || (serving.includes(kind) && metadata.name === artifact.name)
}

function ownerOf(child: KubeObject): string | undefined {
  return imageOwner(child)?.uid ?? child.metadata.labels?.[LABELS.imageUid]
}

function described(child: KubeObject): string {
  const { kind, metadata } = child
  const details = [kind, metadata.name, ...detailsOf(child), ...(isDeletion(child) ? ['being deleted'] : [])]
  return details.join(' ')
}

function detailsOf(child: KubeObject): string[] {
  if (child.kind === DATA_VOLUME.kind) return [(child as DataVolume).status?.phase ?? '']
  if (child.kind !== DATA_SOURCE.kind) return []
  return Object.entries((child as DataSource).spec.source).map(([what, { name }]) => `of ${what} ${name}`)
}
