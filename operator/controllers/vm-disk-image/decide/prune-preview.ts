import type { Policy } from '@open-terrain/constructs'
import { type ImageView, parsedImageSpec } from '../../../images/image-view.ts'
import { isTerminating, keyOf } from '../../../kube/kube-object.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { compareTexts, firstFew } from '../../../runtime/first-few.ts'
import { expiryOf } from './plan-deletion.ts'

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
    const { isReached, wake } = expiryOf({ image, policy, references }, image.status, spec.spec, now)
    if (!isReached && wake === undefined) return []
    return [{ key: keyOf(image.metadata), inMs: isReached ? 0 : (wake?.afterMs ?? 0) }]
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
