import { LABELS, parseDuration, type VMDiskImageSpec } from '@open-terrain/constructs'
import { fromTime } from '../../runtime/conditions.ts'
import type { Wake } from '../../runtime/controller.ts'
import type { Draft } from './image-plan.ts'
import type { Standing } from './status.ts'
import type { World } from './world.ts'

/** A clone that is under way ends with an event of its own; this is for the helper volumes, which nobody watches. */
export const CLONED_LOOK_MS = 60_000

/** Whether an image is to be deleted because nothing refers to it, or when to look at that again. */
export function reclaiming(draft: Draft, spec: VMDiskImageSpec): { readonly reclaim?: true; readonly wake?: Wake } {
  const leftMs = untilReclaim(draft, spec)
  if (leftMs === undefined) return {}
  if (leftMs > 0) return { wake: { afterMs: leftMs, because: 'the image was unreferenced for long enough then' } }
  return { reclaim: true, wake: { afterMs: CLONED_LOOK_MS, because: 'clones of it may be finished by then' } }
}

/** Milliseconds; undefined: not at all, as things are. */
function untilReclaim({ world, now, status }: Draft, spec: VMDiskImageSpec): number | undefined {
  const { policy, references } = world
  const reclaimPolicy = spec.reclaimPolicy ?? (isOfOurs(world) ? policy.reclaimPolicy : 'Retain')
  if (reclaimPolicy !== 'Delete' || references.count > 0) return undefined
  const ttlMs =
    spec.unreferencedTTL === undefined
      ? policy.unreferencedTtlMs
      : (parseDuration(spec.unreferencedTTL) ?? policy.unreferencedTtlMs)
  const lastReferenced = fromTime(status.lastReferencedTime)
  // At the moment that the last reference goes; what was preloaded and never referenced has had no such moment.
  if (ttlMs === 0) return lastReferenced === undefined ? undefined : 0
  // For one that was preloaded, the time begins with its artifact.
  const published = status.artifact === undefined ? undefined : (fromTime(status.unreferencedSince) ?? now)
  const since = Math.max(lastReferenced ?? Number.NEGATIVE_INFINITY, published ?? Number.NEGATIVE_INFINITY)
  return Number.isFinite(since) ? Math.max(0, since + ttlMs - now) : undefined
}

/** Made for somebody who does not need it any more: it leaves the queue instead of downloading for nobody. */
export function abandoned({ world, status }: Draft): Standing | undefined {
  const wasReferenced = status.lastReferencedTime !== undefined || (status.references?.count ?? 0) > 0
  if (!isOfOurs(world) || world.references.count > 0 || !wasReferenced) return undefined
  const message = 'nothing refers to this image any more: it is downloaded when something does again'
  return { phase: 'Queued', reason: 'Unreferenced', message }
}

/** Made by the operator, for a virtual machine, a workspace or a DataSync. */
function isOfOurs({ image }: World): boolean {
  return image.metadata.labels?.[LABELS.createdBy] !== undefined
}
