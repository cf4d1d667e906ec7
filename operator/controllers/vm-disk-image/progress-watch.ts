import type { Clock } from '../../runtime/clock.ts'
import type { DataVolumeView, PodView } from './views.ts'
import type { Observation } from './world.ts'

interface Seen {
  readonly uid: string
  fingerprint: string
  since: number
  firstPodUid: string | undefined
  isScratchPod: boolean
}

/**
 * Remembers since when a download has not moved, and which importer pod it began with. Only in memory: after a restart
 * the patience begins anew, which errs on the side of letting a download go on.
 */
export class ProgressWatch {
  readonly #clock: Clock
  readonly #seen = new Map<string, Seen>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Looks at the running download of an image, if there is one. */
  look(imageUid: string, dataVolume: DataVolumeView | undefined, pods: readonly PodView[]): Observation {
    if (dataVolume === undefined) {
      this.#seen.delete(imageUid)
      return { unchangedMs: 0, firstPodUid: undefined }
    }
    const uid = dataVolume.metadata.uid ?? ''
    const now = this.#clock.monotonic()
    const { phase, progress, bound, running } = dataVolume
    const fingerprint = [phase, progress, bound.reason, running.reason, running.status].join('\n')
    const before = this.#seen.get(imageUid)
    const seen: Seen =
      before?.uid === uid ? before : { uid, fingerprint, since: now, firstPodUid: undefined, isScratchPod: false }
    if (seen.fingerprint !== fingerprint) Object.assign(seen, { fingerprint, since: now })
    // The pod that converts through scratch space is the one that downloads; the one before it only found out.
    const pod = pods.find(({ hasScratch }) => hasScratch) ?? pods[0]
    if (pod !== undefined && (seen.firstPodUid === undefined || (pod.hasScratch && !seen.isScratchPod))) {
      Object.assign(seen, { firstPodUid: pod.metadata.uid, isScratchPod: pod.hasScratch })
    }
    this.#seen.set(imageUid, seen)
    return { unchangedMs: now - seen.since, firstPodUid: seen.firstPodUid }
  }

  forget(imageUid: string): void {
    this.#seen.delete(imageUid)
  }
}
