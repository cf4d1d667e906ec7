import { type Adoptable, type VMDiskImageStatus, vmDiskImage } from '@open-terrain/constructs/operator'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  VOLUME_SNAPSHOT,
} from '../../../kube/resource-types.ts'
import type { ChildType, ObjectPlan } from '../../../runtime/plan.ts'
import type { Unreferenced } from '../../../runtime/preconditions.ts'
import type { Holder, ImageWorld } from '../world.ts'
import type { Target } from './target.ts'

/** What is to be done about one image, as printable data. */
export interface ImagePlan extends ObjectPlan {
  readonly status: VMDiskImageStatus
  /** A download that should run; it waits for a slot, or has one. */
  readonly start?: Start
  /** What the image is to adopt, of which a verdict is still to be found. */
  readonly adopts?: Adoptable
  /** What is to be read live, because the next plan rests on it. */
  readonly reads?: readonly ContentRead[]
}

/** An object whose content no cache has. It is in the namespace of the image. */
export interface ContentRead {
  readonly kind: 'Secret' | 'ConfigMap'
  readonly name: string
}

export const IMAGE_CHILDREN: readonly ChildType[] = [
  // In the foreground, an importer and its claim for scratch space would each wait for the other.
  { type: DATA_VOLUME, propagationPolicy: 'Background' },
  // Importers of a DataVolume that is deleted.
  { type: POD, propagationPolicy: 'Background' },
  { type: VOLUME_SNAPSHOT, propagationPolicy: 'Background' },
  { type: DATA_SOURCE, propagationPolicy: 'Background' },
  // One that the image has adopted, if its spec says so.
  { type: PERSISTENT_VOLUME_CLAIM, propagationPolicy: 'Background' },
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

/** Requires that nothing refers to the image. With `by` set to `users`, only that nothing needs it to stay. */
export function unreferenced({ image: { metadata } }: ImageWorld, by: Unreferenced['by']): Unreferenced {
  const { namespace = '', name } = metadata
  return { unreferenced: { namespace, name }, by }
}
