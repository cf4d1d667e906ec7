import type { LookLoopOptions } from '../runtime/look-loop.ts'
import { redactUrls } from '../runtime/redact.ts'
import { EventLooks } from './event-looks.ts'

/** Normally, the importer pod exists sooner. */
const PATIENCE_MS = 2_000
/** CDI reports every attempt in the same Event. */
const EVENTS_MAX = 10
const TEXT_MAX = 1_000

/** CDI could not create the prime claim, which it fills instead of the target claim. It reports this only in an Event about the target. */
const REASON = 'ErrCreatingPVCPrime'

/**
 * Finds by live reads why CDI cannot create the prime claim of a download, such as a quota that has room only for the target claim. These are
 * {@link EventLooks} about the claims of downloads for which CDI shows nothing else, by uid of their images.
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
