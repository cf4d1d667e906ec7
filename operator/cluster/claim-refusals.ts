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

/** A download that has a claim, and of which CDI shows nothing more. */
export interface SilentDownload {
  /** `<namespace>/<name>` of its image. */
  readonly key: string
  readonly namespace: string
  /** Of the claim. */
  readonly claimUid: string
}

/**
 * Looks live for what keeps CDI from creating the prime claim of a download, such as a quota that has room for the target claim alone: {@link EventLooks}, while
 * CDI shows nothing of it.
 */
export class ClaimRefusals {
  readonly #looks: EventLooks

  constructor(options: LookLoopOptions) {
    this.#looks = new EventLooks({
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

  /** Serves until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#looks.run(signal)
  }

  /** Notes that a download is silent. Returns what CDI was found to say about its claim. */
  note(imageUid: string, { key, namespace, claimUid }: SilentDownload): string | undefined {
    return this.#looks.note(imageUid, { key, namespace, uid: claimUid }).text
  }

  /** It is not silent any more, or is over. */
  drop(imageUid: string): void {
    this.#looks.drop(imageUid)
  }
}
