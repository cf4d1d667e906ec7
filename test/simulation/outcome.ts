import { type Artifact, LABELS } from '@open-terrain/constructs'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { type DataSource, type DataVolume, type Image, reasonOf } from '../harness/kinds.ts'
import { imageOwner, isDeletion } from './chronicle.ts'
import type { World } from './world.ts'

/** How an image ended. Names of children carry the revision; of uids and times there is nothing here. */
interface ImageOutcome {
  /** Whether it depends on who was first, an edit or the end of a download, what became of it. */
  readonly isUndecided: boolean
  readonly stands: string
  /** What clones of it read, and the alias that leads there. */
  readonly serves: readonly string[]
  /** Its other children. */
  readonly keeps: readonly string[]
}

/** The end state of a run. */
export interface Outcome {
  /** By `namespace/name`. */
  readonly images: Readonly<Record<string, ImageOutcome>>
  /** Names of the images that hold a slot. */
  readonly holders: readonly string[]
}

const CHILDREN = [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT, DATA_SOURCE]

export function outcomeOf({ chronicle, cluster }: World, isUndecided: (image: Image) => boolean): Outcome {
  const children = CHILDREN.flatMap((type) => cluster.admin.list(type).items)
  const images = [...chronicle.images.values()].map((image): [string, ImageOutcome] => {
    const own = children.filter((child) => ownerOf(child) === image.metadata.uid)
    return [keyOf(image.metadata), { isUndecided: isUndecided(image), ...imageOutcome(image, own) }]
  })
  const holders = chronicle.ledger?.holders.map(keyOf) ?? ['the ledger is gone']
  return { images: Object.fromEntries(images.toSorted(([a], [b]) => (a < b ? -1 : 1))), holders }
}

/**
 * The same without what depends on who was first, people or the operator: a volume that somebody deleted before its snapshot
 * was taken is downloaded again, after that it is not.
 */
export function decidedPart({ images, holders }: Outcome): Outcome {
  const undecided: ImageOutcome = { isUndecided: true, stands: 'waits, or was synced before', serves: [], keeps: [] }
  const decided = Object.entries(images).map(([key, image]): [string, ImageOutcome] => [
    key,
    image.isUndecided ? undecided : { ...image, keeps: [] },
  ])
  return { images: Object.fromEntries(decided), holders }
}

function imageOutcome(image: Image, children: readonly KubeObject[]): Omit<ImageOutcome, 'isUndecided'> {
  const { phase = '', artifact } = image.status ?? {}
  const isServing = (child: KubeObject) => phase === 'Succeeded' && artifact !== undefined && isPartOf(child, artifact)
  // Which snapshot class came first decides what the snapshot is called.
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

/** A claim serves together with the DataVolume that owns it, and has its name. */
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
