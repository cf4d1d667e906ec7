import {
  LABELS,
  parseDuration,
  type ReclaimPolicy,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs'
import { fromTime } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { sooner } from '../../../runtime/wake.ts'
import type { ImageWorld } from '../world.ts'
import { type Expiry, type ImageDraft, type ImagePlan, uncloned, unreferenced } from './image-plan.ts'
import { isFinished } from './judge.ts'
import { type ImageStanding, timesOfReferences } from './status.ts'

/** The end of a running clone causes its own watch event. This is for the helper volumes, which nobody watches. */
export const CLONED_LOOK_MS = 60_000

/**
 * Returns when an image is deleted because nothing refers to it. One rule for all states: it is applied before anything else that may be
 * done for the image, and uses only two facts of the status: whether anything ever referred to it, and since when nothing does.
 */
export function expiryOf(world: ImageWorld, status: VMDiskImageStatus, spec: VMDiskImageSpec, now: number): Expiry {
  const { reclaimPolicy, ttlMs } = ruleFor(spec, world)
  const isCounting = status.unreferencedSince !== undefined
  const { lastReferencedTime, unreferencedSince } = timesOfReferences(status, world.references.count, isCounting, now)
  const since = fromTime(unreferencedSince)
  // 0 means at the moment when the last reference is removed. A preloaded image that was never referenced has had no such moment.
  const isSpared = ttlMs === 0 && lastReferencedTime === undefined
  if (reclaimPolicy !== 'Delete' || since === undefined || isSpared) return { isReached: false }
  const leftMs = since + ttlMs - now
  if (leftMs <= 0) return { isReached: true }
  return { isReached: false, wake: { afterMs: leftMs, because: 'the image was unreferenced for long enough then' } }
}

/** The spec takes precedence, field by field. The policy has one rule for images that the operator created, and one for all others. */
function ruleFor(
  { reclaimPolicy, unreferencedTTL = '' }: VMDiskImageSpec,
  world: ImageWorld,
): { readonly reclaimPolicy: ReclaimPolicy; readonly ttlMs: number } {
  const { policy } = world
  const rule = isOfOurs(world)
    ? { reclaimPolicy: policy.reclaimPolicy, ttlMs: policy.unreferencedTtlMs }
    : { reclaimPolicy: policy.userReclaimPolicy, ttlMs: policy.userUnreferencedTtlMs ?? policy.unreferencedTtlMs }
  return { reclaimPolicy: reclaimPolicy ?? rule.reclaimPolicy, ttlMs: parseDuration(unreferencedTTL) ?? rule.ttlMs }
}

const REMOVED: EventNote = {
  type: 'Normal',
  reason: 'Unreferenced',
  message: 'nothing has referred to the image for its unreferencedTTL: it is deleted',
}

/** Adds to a plan what happens to an expired image: no download starts, and once none is left the image is deleted. */
export function withExpiry(plan: ImagePlan, { world, expiry }: ImageDraft): ImagePlan {
  if (!expiry.isReached) return expiry.wake === undefined ? plan : { ...plan, wake: sooner(plan.wake, expiry.wake) }
  const isQuiet = world.slot === undefined && world.dataVolumes.every(isFinished)
  if (!isQuiet) return plan
  const { start: _none, ...rest } = plan
  const again = { afterMs: CLONED_LOOK_MS, because: 'clones of it may be finished by then' }
  // An unfinished clone still needs the child that it reads from.
  const clones = [...world.snapshots, ...world.dataVolumes].map((child) => uncloned(child, 'live'))
  const [itself] = removalOf(world.image, unreferenced(world, 'anyone'), ...clones)
  const remove = [...plan.remove, ...(itself === undefined ? [] : [{ ...itself, event: REMOVED }])]
  return { ...rest, remove, wake: sooner(plan.wake, again) }
}

/** Reports that the image has expired. Only for an image without an artifact, which would be reported instead. */
export function expired({ expiry }: ImageDraft): ImageStanding | undefined {
  if (!expiry.isReached) return undefined
  const message = 'nothing has referred to this image for its unreferencedTTL: it is being removed'
  return { phase: 'Queued', reason: 'Unreferenced', message, isHeldBack: true }
}

/** Takes an image that the operator created out of the queue when nothing refers to it any more: nobody needs the download. */
export function abandoned({ world, status }: ImageDraft): ImageStanding | undefined {
  const wasReferenced = status.lastReferencedTime !== undefined || (status.references?.count ?? 0) > 0
  if (!isOfOurs(world) || world.references.count > 0 || !wasReferenced) return undefined
  const message = 'nothing refers to this image any more: it is downloaded when something refers to it again'
  return { phase: 'Queued', reason: 'Unreferenced', message }
}

/** Reports whether the operator created the image, for a VirtualMachine, a Workspace or a DataSync. */
function isOfOurs({ image }: ImageWorld): boolean {
  return image.metadata.labels?.[LABELS.createdBy] !== undefined
}
