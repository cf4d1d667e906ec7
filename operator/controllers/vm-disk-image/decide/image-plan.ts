import { FINALIZERS, type VMDiskImageStatus, vmDiskImage } from '@open-terrain/constructs'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../../kube/resource-types.ts'
import { type ChildType, NOTHING_TO_DO, type ObjectPlan } from '../../../runtime/plan.ts'
import type { Uncloned, Unreferenced } from '../../../runtime/preconditions.ts'
import type { Wake } from '../../../runtime/wake.ts'
import type { Holder, ImageWorld } from '../world.ts'
import { type ImageStanding, withImageStanding } from './status.ts'
import type { Target } from './target.ts'

/** What is to be done about one image, as printable data. */
export interface ImagePlan extends ObjectPlan {
  readonly status: VMDiskImageStatus
  /** A download that should run; it waits for a slot, or has one. */
  readonly start?: Start
}

export const IMAGE_CHILDREN: readonly ChildType[] = [
  // Gone only when its importer is.
  { type: DATA_VOLUME, propagationPolicy: 'Foreground' },
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
  /** The ticket and the finalizer are written and seen. Until then it keeps its place, and holds off those behind it. */
  readonly admissible: boolean
  readonly target: Target
}

/** Whether nothing has referred to an image for long enough that it goes by itself. */
export interface Expiry {
  readonly isReached: boolean
  /** When it will be, as things are. */
  readonly wake?: Wake
}

/** What all parts of a plan start from. */
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

/** Nothing refers to the image; or as users, nothing needs it to stay. */
export function unreferenced({ image: { metadata } }: ImageWorld, by: Unreferenced['by']): Unreferenced {
  const { namespace = '', name } = metadata
  return { unreferenced: { namespace, name }, by }
}

/** No unfinished clone reads from it. */
export function uncloned({ kind, metadata: { namespace = '', name } }: KubeObject, look: Uncloned['look']): Uncloned {
  return { uncloned: { kind, namespace, name }, look }
}

type PlanRest = Partial<Omit<ImagePlan, 'status'>>

export function planWith(status: VMDiskImageStatus, rest: PlanRest): ImagePlan {
  return { ...NOTHING_TO_DO, ...rest, status }
}

/** The plan of an image that stands there. From here on it has children, or may: the finalizer keeps it as long as they are there. */
export function planAt(
  draft: ImageDraft,
  status: VMDiskImageStatus,
  standing: ImageStanding,
  rest: PlanRest = {},
): ImagePlan {
  const hasFinalizer = draft.world.image.metadata.finalizers?.includes(FINALIZERS.vmDiskImage)
  return planWith(withImageStanding(status, standing, draft), { finalizer: hasFinalizer ? 'keep' : 'add', ...rest })
}
