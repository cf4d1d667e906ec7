import type { Clock } from '../../runtime/clock.ts'
import type { DataVolumeView, PodView } from './views.ts'
import type { Observation } from './world.ts'

interface Seen {
  readonly uid: string
  fingerprint: string
  since: number
  podUid: string | undefined
  isScratchPod: boolean
}

/**
 * Remembers since when a download has not moved, and which importer pod it is by. A new process learns the pod from the
 * status; its patience begins anew, which errs on the side of letting a download go on.
 */
export class ProgressWatch {
  readonly #clock: Clock
  readonly #seen = new Map<string, Seen>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Looks at the running download of an image, if there is one.
   * @param pods its living importers
   * @param knownPodUid uid of its importer as the status has it
   */
  look(
    imageUid: string,
    dataVolume: DataVolumeView | undefined,
    pods: readonly PodView[],
    knownPodUid?: string,
  ): Observation {
    if (dataVolume === undefined) {
      this.#seen.delete(imageUid)
      return { unchangedMs: 0, importerPodUid: undefined, isImporterReplaced: false }
    }
    const uid = dataVolume.metadata.uid ?? ''
    const now = this.#clock.monotonic()
    const { phase, progress, bound, running } = dataVolume
    const fingerprint = [phase, progress, bound.reason, running.reason, running.status].join('\n')
    const before = this.#seen.get(imageUid)
    const seen: Seen =
      before?.uid === uid ? before : { uid, fingerprint, since: now, podUid: knownPodUid, isScratchPod: false }
    if (seen.fingerprint !== fingerprint) Object.assign(seen, { fingerprint, since: now })
    for (const pod of pods) takePod(seen, pod)
    this.#seen.set(imageUid, seen)
    const isImporterReplaced = pods.some(({ metadata }) => metadata.uid !== seen.podUid)
    return { unchangedMs: now - seen.since, importerPodUid: seen.podUid, isImporterReplaced }
  }

  forget(imageUid: string): void {
    this.#seen.delete(imageUid)
  }
}

/** The first pod is the one that downloads, until one with scratch space follows it: then it only found out that this is needed. */
function takePod(seen: Seen, { metadata: { uid }, hasScratch }: PodView): void {
  const isFollower = hasScratch && !seen.isScratchPod
  if (seen.podUid !== undefined && seen.podUid !== uid && !isFollower) return
  seen.podUid = uid
  seen.isScratchPod = hasScratch
}
