import type { LookLoopOptions } from '../runtime/look-loop.ts'
import { redactUrls } from '../runtime/redact.ts'
import { EventLooks } from './event-looks.ts'

/** An importer pod is there within less, where all goes well. */
const PATIENCE_MS = 2_000
/** CDI tells of each try in one and the same Event. */
const EVENTS_MAX = 10
const TEXT_MAX = 1_000

/** CDI could not create the claim that it fills in place of the target. It says so in an Event about the target, and nowhere else. */
const REASON = 'ErrCreatingPVCPrime'

/**
 * Looks live for what keeps CDI from creating the prime claim of a download, such as a quota that has room for the target claim alone: {@link EventLooks} about the
 * claims of downloads of which CDI shows nothing more, by uid of their images.
 */
export function claimRefusals(options: LookLoopOptions): EventLooks {
  return new EventLooks({
    ...options,
    name: 'vmdiskimage-claim-refusals',
    patienceMs: PATIENCE_MS,
    which: `reason=${REASON}`,
    eventsMax: EVENTS_MAX,
    read: (events) => {
      const last = events.at(-1)
      return last && redactUrls((last.message ?? '').slice(0, TEXT_MAX))
    },
  })
}
