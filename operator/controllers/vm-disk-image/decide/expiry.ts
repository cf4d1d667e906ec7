import { LABELS } from '@open-terrain/constructs'
import {
  type Policy,
  parseDuration,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { compareTexts, firstFew } from '../../../base/messages.ts'
import { fromTime } from '../../../base/time.ts'
import { type ImageView, parsedImageSpec } from '../../../images/image-view.ts'
import { isTerminating, keyOf } from '../../../kube/kube-object.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { Requeue } from '../../../runtime/requeue.ts'
import type { ImageWorld } from '../world.ts'
import { timesOfReferences } from './status.ts'

/** Whether an image has been unreferenced long enough to be deleted automatically. */
export interface Expiry {
  readonly isReached: boolean
  /** When that is the case, if nothing changes. */
  readonly requeue?: Requeue
}

/** What decides about {@link expiryOf}. */
type ExpiryFacts = Pick<ImageWorld, 'image' | 'policy'> & { readonly references: { readonly count: number } }

/**
 * Returns when an image is deleted because nothing refers to it. One rule for all states: it is applied before anything else that may be
 * done for the image, and uses only two facts of the status: whether anything ever referred to it, and since when nothing does.
 */
export function expiryOf(world: ExpiryFacts, status: VMDiskImageStatus, spec: VMDiskImageSpec, now: number): Expiry {
  const { reclaimPolicy, ttlMs } = ruleFor(spec, world)
  const isCounting = status.unreferencedSince !== undefined
  const { lastReferencedTime, unreferencedSince } = timesOfReferences(status, world.references.count, isCounting, now)
  const since = fromTime(unreferencedSince)
  // 0 means at the moment when the last reference is removed. A preloaded image that was never referenced has had no such moment.
  const isSpared = ttlMs === 0 && lastReferencedTime === undefined
  if (reclaimPolicy !== 'Delete' || since === undefined || isSpared) return { isReached: false }
  const leftMs = since + ttlMs - now
  if (leftMs <= 0) return { isReached: true }
  return { isReached: false, requeue: { afterMs: leftMs, because: 'the image was unreferenced for long enough then' } }
}

/** The spec takes precedence, field by field. The policy has one rule for images that the operator created, and one for all others. */
function ruleFor(spec: VMDiskImageSpec, world: ExpiryFacts) {
  const { reclaimPolicy, unreferencedTtlMs, userReclaimPolicy, userUnreferencedTtlMs } = world.policy
  const rule = isOfOurs(world)
    ? { reclaimPolicy, ttlMs: unreferencedTtlMs }
    : { reclaimPolicy: userReclaimPolicy, ttlMs: userUnreferencedTtlMs ?? unreferencedTtlMs }
  const ttlMs = parseDuration(spec.unreferencedTTL ?? '') ?? rule.ttlMs
  return { reclaimPolicy: spec.reclaimPolicy ?? rule.reclaimPolicy, ttlMs }
}

/** Reports whether the operator created the image, for a VirtualMachine, a Workspace or a DataSync. */
export function isOfOurs({ image }: Pick<ImageWorld, 'image'>): boolean {
  return image.metadata.labels?.[LABELS.createdBy] !== undefined
}

const NAMES_SHOWN = 20
const KEYS = ['reclaimPolicy', 'unreferencedTtlMs', 'userReclaimPolicy', 'userUnreferencedTtlMs'] as const

/** An image that the operator deletes if nothing refers to it before. */
export interface DueImage {
  /** `<namespace>/<name>`. */
  readonly key: string
  /** In how many milliseconds. 0: at once. */
  readonly inMs: number
}

/** Returns which of these images a policy deletes, the first one first, as their statuses say who refers to them. */
export function dueImages(images: readonly ImageView[], policy: Policy, now: number): readonly DueImage[] {
  const due = images.flatMap((image) => {
    const spec = parsedImageSpec(image)
    if (!spec.ok || isTerminating(image)) return []
    const references = { count: image.status.references?.count ?? 0 }
    const { isReached, requeue } = expiryOf({ image, policy, references }, image.status, spec.spec, now)
    if (!isReached && requeue === undefined) return []
    return [{ key: keyOf(image.metadata), inMs: isReached ? 0 : (requeue?.afterMs ?? 0) }]
  })
  return due.toSorted((one, other) => one.inMs - other.inMs || compareTexts(one.key, other.key))
}

/** Returns what to tell of a change of the policy that deletes images at once, which were to stay, or to stay longer. */
export function noteOnDeletions(
  images: readonly ImageView[],
  before: Policy,
  after: Policy,
  now: number,
): EventNote | undefined {
  if (KEYS.every((key) => before[key] === after[key])) return undefined
  const dueAt = (policy: Policy) => dueImages(images, policy, now).flatMap(({ key, inMs }) => (inMs === 0 ? [key] : []))
  const known = new Set(dueAt(before))
  const due = dueAt(after).filter((key) => !known.has(key))
  if (due.length === 0) return undefined
  const message = `this change deletes the images that nothing refers to any more, unless something does before: ${firstFew(due, NAMES_SHOWN)}`
  return { type: 'Warning', reason: 'ImagesDue', message }
}
