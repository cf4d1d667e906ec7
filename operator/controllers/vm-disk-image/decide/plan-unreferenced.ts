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

/** A clone that is under way ends with an event of its own; this is for the helper volumes, which nobody watches. */
export const CLONED_LOOK_MS = 60_000

/**
 * When an image goes because nothing refers to it. One rule for all states: it is judged before everything else that may be done for the
 * image, and only the two facts in the status count, whether something has ever referred to it, and since when nothing does.
 */
export function expiryOf(world: ImageWorld, status: VMDiskImageStatus, spec: VMDiskImageSpec, now: number): Expiry {
  const { reclaimPolicy, ttlMs } = ruleFor(spec, world)
  const isCounting = status.unreferencedSince !== undefined
  const { lastReferencedTime, unreferencedSince } = timesOfReferences(status, world.references.count, isCounting, now)
  const since = fromTime(unreferencedSince)
  // At the moment that the last reference goes. What was preloaded, and is still to be referred to, has had no such moment.
  const isSpared = ttlMs === 0 && lastReferencedTime === undefined
  if (reclaimPolicy !== 'Delete' || since === undefined || isSpared) return { isReached: false }
  const leftMs = since + ttlMs - now
  if (leftMs <= 0) return { isReached: true }
  return { isReached: false, wake: { afterMs: leftMs, because: 'the image was unreferenced for long enough then' } }
}

/** The spec counts before the policy, each field for itself. The policy has one rule for our images, and one for all others. */
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

/** Adds to a plan what becomes of an image whose time is over: no download begins, and once none is left the image goes. */
export function withExpiry(plan: ImagePlan, { world, expiry }: ImageDraft): ImagePlan {
  if (!expiry.isReached) return expiry.wake === undefined ? plan : { ...plan, wake: sooner(plan.wake, expiry.wake) }
  const isQuiet = world.slot === undefined && world.dataVolumes.every(isFinished)
  if (!isQuiet) return plan
  const { start: _none, ...rest } = plan
  const again = { afterMs: CLONED_LOOK_MS, because: 'clones of it may be finished by then' }
  // Who clones from a child of it still needs that.
  const clones = [...world.snapshots, ...world.dataVolumes].map((child) => uncloned(child, 'live'))
  const [itself] = removalOf(world.image, unreferenced(world, 'anyone'), ...clones)
  const remove = [...plan.remove, ...(itself === undefined ? [] : [{ ...itself, event: REMOVED }])]
  return { ...rest, remove, wake: sooner(plan.wake, again) }
}

/** Its time is over, and it has no artifact that could be told instead. */
export function expired({ expiry }: ImageDraft): ImageStanding | undefined {
  if (!expiry.isReached) return undefined
  const message = 'nothing has referred to this image for its unreferencedTTL: it is being removed'
  return { phase: 'Queued', reason: 'Unreferenced', message, isHeldBack: true }
}

/** Made for somebody who does not need it any more: it leaves the queue instead of downloading for nobody. */
export function abandoned({ world, status }: ImageDraft): ImageStanding | undefined {
  const wasReferenced = status.lastReferencedTime !== undefined || (status.references?.count ?? 0) > 0
  if (!isOfOurs(world) || world.references.count > 0 || !wasReferenced) return undefined
  const message = 'nothing refers to this image any more: it is downloaded when something refers to it again'
  return { phase: 'Queued', reason: 'Unreferenced', message }
}

/** Made by the operator, for a virtual machine, a workspace or a DataSync. */
function isOfOurs({ image }: ImageWorld): boolean {
  return image.metadata.labels?.[LABELS.createdBy] !== undefined
}
