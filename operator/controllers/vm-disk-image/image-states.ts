import { type Reason, VM_DISK_IMAGE_CONDITIONS } from '@open-terrain/constructs/operator'
import { fromTime } from '../../base/time.ts'
import type { ImageView } from '../../images/image-view.ts'
import { isTerminating } from '../../kube/kube-object.ts'
import type { ObjectState } from '../../runtime/state-gauges.ts'

/** In place of the phase of an image that has failed, and tries again. */
const RETRYING = 'Retrying'
/** Reasons of an image that does not try again now, and of attempts that somebody ended on purpose. */
const ON_PURPOSE: ReadonlySet<string | undefined> = new Set<Reason>([
  'Suspended',
  'Paused',
  'Unreferenced',
  'SpecChanged',
  'SyncCancelled',
])

/** Returns why an image still tries again: its own reason changes with each step of an attempt. */
export function imageStates(image: ImageView): readonly ObjectState[] {
  const retried = isTerminating(image) ? undefined : retriedSince(image.status)
  return retried === undefined ? [] : [{ phase: RETRYING, ...retried }]
}

/** Returns why the last attempts failed, and when the first of them began that all failed for this reason. */
function retriedSince({ phase, reason, revision, conditions = [], attempts = [] }: ImageView['status']) {
  const last = attempts.at(-1)
  if (last === undefined || last.revision !== revision || last.outcome === 'Succeeded') return undefined
  if (phase === 'Succeeded' || phase === 'Failed' || [reason, last.reason].some((one) => ON_PURPOSE.has(one)))
    return undefined
  const others = attempts.findLastIndex((one) => one.reason !== last.reason || one.revision !== revision)
  const begun = fromTime(attempts[others + 1]?.startedAt)
  // What failed before somebody asked for a new try is over.
  const settled = fromTime(conditions.find(({ type }) => type === VM_DISK_IMAGE_CONDITIONS.Settled)?.lastTransitionTime)
  return begun === undefined ? undefined : { reason: last.reason, since: Math.max(begun, settled ?? begun) }
}
