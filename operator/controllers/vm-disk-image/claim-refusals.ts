import type { KubeObject } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import { EVENT } from '../../kube/resource-types.ts'
import { LookLoop, type LookLoopOptions } from '../../runtime/look-loop.ts'
import { redactUrls } from '../../runtime/redact.ts'
import type { Wake } from '../../runtime/wake.ts'

/** An importer pod is there within less, where all goes well. */
const PATIENCE_MS = 2_000
const LOOK_EVERY_MS = 30_000
/** However many downloads are silent. */
const APART_MS = 1_000
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

interface Noted extends SilentDownload {
  readonly since: number
  lookedAt: number
  refusal: string | undefined
}

/**
 * Looks live for what keeps CDI from creating the prime claim of a download, such as a quota that has room for the target claim alone. A look is one
 * short list of the Events of one claim, for one download after the other, and only while CDI shows nothing of it: no watch, and nothing at
 * all while downloads start as they should.
 */
export class ClaimRefusals {
  readonly #options: LookLoopOptions
  readonly #loop: LookLoop
  /** By uid of the image. */
  readonly #silent = new Map<string, Noted>()
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(options: LookLoopOptions) {
    this.#options = options
    this.#loop = new LookLoop(options, 'vmdiskimage-claim-refusals', (uid, signal) => this.#look(uid, signal))
  }

  /** Serves until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal)
  }

  /** Notes that a download is silent. Returns what CDI was found to say about its claim. */
  note(imageUid: string, download: SilentDownload): string | undefined {
    const known = this.#silent.get(imageUid)
    if (known?.claimUid === download.claimUid) return known.refusal
    const since = this.#options.clock.monotonic()
    this.#silent.set(imageUid, { ...download, since, lookedAt: Number.NEGATIVE_INFINITY, refusal: undefined })
    this.#loop.lookAfter(imageUid, PATIENCE_MS)
    return undefined
  }

  /** It is not silent any more, or is over. */
  drop(imageUid: string): void {
    this.#silent.delete(imageUid)
  }

  async #look(imageUid: string, signal: AbortSignal): Promise<Wake | undefined> {
    const { client, clock, onNews } = this.#options
    const noted = this.#silent.get(imageUid)
    if (noted === undefined) return undefined
    const now = clock.monotonic()
    const { since, lookedAt, namespace, claimUid } = noted
    const leftMs = Math.max(since + PATIENCE_MS, lookedAt + LOOK_EVERY_MS, this.#lookedAt + APART_MS) - now
    if (leftMs > 0) return { afterMs: leftMs, because: 'the next look is due then' }
    // Before the request: one that fails counts as well.
    noted.lookedAt = now
    this.#lookedAt = now
    const fieldSelector = `involvedObject.uid=${claimUid},reason=${REASON}`
    let refusal: string | undefined
    let count = 0
    for await (const text of listAll(client, EVENT, { namespace, fieldSelector, signal, project: textOf })) {
      refusal = text
      count += 1
      if (count >= EVENTS_MAX) break
    }
    if (refusal !== noted.refusal) {
      noted.refusal = refusal
      onNews(noted.key)
    }
    return { afterMs: LOOK_EVERY_MS, because: 'it may say something else by then' }
  }
}

function textOf(event: KubeObject & { readonly message?: unknown }): string {
  return redactUrls(String(event.message ?? '').slice(0, TEXT_MAX))
}
