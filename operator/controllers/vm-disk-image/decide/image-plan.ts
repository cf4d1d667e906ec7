import { childName, FINALIZERS, type VMDiskImageStatus, vmDiskImage } from '@open-terrain/constructs'
import { CLONE_SOURCES } from '../../../cluster/clone-sources.ts'
import { type DataVolumeView, isAlive, type PodView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, POD, VOLUME_SNAPSHOT } from '../../../kube/resource-types.ts'
import { type ChildType, NOTHING_TO_DO, type ObjectPlan } from '../../../runtime/plan.ts'
import type { Absent, NamedObject, Uncloned, Unreferenced } from '../../../runtime/preconditions.ts'
import type { Wake } from '../../../runtime/wake.ts'
import { type Holder, type ImageWorld, isRecorded } from '../world.ts'
import { type ImageStanding, withImageStanding } from './status.ts'
import type { Target } from './target.ts'

/** What is to be done about one image, as printable data. */
export interface ImagePlan extends ObjectPlan {
  readonly status: VMDiskImageStatus
  /** A download that should run; it waits for a slot, or has one. */
  readonly start?: Start
}

export const IMAGE_CHILDREN: readonly ChildType[] = [
  // In the foreground, an importer and its claim for scratch space would each wait for the other.
  { type: DATA_VOLUME, propagationPolicy: 'Background' },
  // Importers of a DataVolume that is deleted.
  { type: POD, propagationPolicy: 'Background' },
  { type: VOLUME_SNAPSHOT, propagationPolicy: 'Background' },
  { type: DATA_SOURCE, propagationPolicy: 'Background' },
  // The image itself.
  { type: vmDiskImage, propagationPolicy: 'Background' },
]

/** What the admission needs to know to download an image. */
export interface Start extends Omit<Holder, 'claimant'> {
  readonly key: string
  readonly generation: number | undefined
  readonly ticket: string
  /** Ticket, finalizer and target are written and observed, and what the target names was read. Until then the image keeps its place, and those behind it wait. */
  readonly admissible: boolean
  readonly target: Target
}

/** Whether an image has been unreferenced long enough to be deleted automatically. */
export interface Expiry {
  readonly isReached: boolean
  /** When that is the case, if nothing changes. */
  readonly wake?: Wake
}

/** Input that all parts of the planner share. */
export interface ImageDraft {
  readonly world: ImageWorld
  readonly now: number
  readonly target: Target
  /** Of the wanted revision. */
  readonly dataVolume: DataVolumeView | undefined
  readonly isSuspended: boolean
  /** The status so far, brought up to the wanted revision and budget. */
  readonly status: VMDiskImageStatus
  readonly expiry: Expiry
}

/** Requires that nothing refers to the image. With `by` set to `users`, only that nothing needs it to stay. */
export function unreferenced({ image: { metadata } }: ImageWorld, by: Unreferenced['by']): Unreferenced {
  const { namespace = '', name } = metadata
  return { unreferenced: { namespace, name }, by }
}

/** Requires that no unfinished clone reads from the object. */
export function uncloned({ kind, metadata: { namespace = '', name } }: KubeObject, look: Uncloned['look']): Uncloned {
  return { uncloned: { kind, namespace, name }, look }
}

/** Returns the importers that run and are not being deleted. */
export function runningImporters({ observation }: ImageWorld): PodView[] {
  return observation.importers.filter((pod) => isAlive(pod) && !isTerminating(pod))
}

/** Names the importer before its DataVolume is deleted: another process, which has seen neither, finds it by nothing else. */
export function withImporter(status: VMDiskImageStatus, world: ImageWorld): VMDiskImageStatus {
  const [pod] = runningImporters(world)
  return pod === undefined ? status : { ...status, importerPodUID: pod.metadata.uid }
}

/** Returns what the next status gives up because the caches do not have it. It may still exist, so a live read must confirm it. */
export function lostChildren({ image, dataVolumes, snapshots, claims }: ImageWorld, next: VMDiskImageStatus): Absent[] {
  const { artifact, dataVolumeUID: uid, revision = '' } = image.status
  const { namespace = '' } = image.metadata
  const lacks = (children: readonly KubeObject[], name: string) => !children.some((one) => one.metadata.name === name)
  const lost: NamedObject[] = []
  if (artifact !== undefined && next.artifact === undefined) {
    const { kind, name } = artifact
    if (lacks(kind === 'VolumeSnapshot' ? snapshots : claims, name))
      lost.push({ type: CLONE_SOURCES[kind], namespace, name })
  }
  const isGivenUp = uid !== undefined && !isRecorded(image.status) && isRecorded(next, uid)
  if (isGivenUp && !dataVolumes.some(({ metadata }) => metadata.uid === uid))
    lost.push({ type: DATA_VOLUME, namespace, name: childName(image.metadata.name, revision), uid })
  return lost.map((one) => ({ absent: [one], whose: 'ours' }))
}

type PlanRest = Partial<Omit<ImagePlan, 'status'>>

export function planWith(status: VMDiskImageStatus, rest: PlanRest): ImagePlan {
  return { ...NOTHING_TO_DO, ...rest, status }
}

/** Returns a plan with this standing. From here on the image may have children: the finalizer keeps it until they are gone. */
export function planAt(
  draft: ImageDraft,
  status: VMDiskImageStatus,
  standing: ImageStanding,
  rest: PlanRest = {},
): ImagePlan {
  const hasFinalizer = draft.world.image.metadata.finalizers?.includes(FINALIZERS.vmDiskImage)
  return planWith(withImageStanding(status, standing, draft), { finalizer: hasFinalizer ? 'keep' : 'add', ...rest })
}
