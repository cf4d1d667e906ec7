import type { Clock } from '../../base/clock.ts'
import { claimMessageOf } from '../../cluster/claim-message.ts'
import { downloadsOf, isUnreported, NOTHING_SEEN, type Observation } from '../../cluster/import-facts.ts'
import { hasCompleted } from '../../cluster/importer-container.ts'
import type { LeasePulse } from '../../cluster/lease-pulse.ts'
import type { DataVolumeView, PodView } from '../../cluster/views.ts'
import { isTerminating } from '../../kube/kube-object.ts'

interface Seen {
  readonly uid: string
  fingerprint: string
  /** When it was first observed, and when it last made progress. */
  readonly seenAt: number
  since: number
  /** Its importer pods, by uid. */
  readonly pods: Map<string, SeenPod>
  /** The pod that the status names: it ran before this process observed it. */
  readonly knownPodUid: string | undefined
  /** The highest number of downloads that was counted for it. */
  downloads: number
  /** Since when CDI should have acted on it; undefined while nothing is expected from CDI. */
  dueSince: number | undefined
}

/** The current state of an unfinished download. */
export interface Sight {
  readonly dataVolume: DataVolumeView
  /** CDI has created its claim. */
  readonly hasClaim: boolean
  /** Its importer pods, including those that have ended and those that are being deleted. */
  readonly importers: readonly PodView[]
  /** Uid of the importer that the status names. */
  readonly knownPodUid: string | undefined
  /** The status says that CDI does not act on it: an earlier process has already waited for that. */
  readonly wasDue: boolean
}

/** A long time for a controller that acts on watch events. */
const CDI_ACTS_WITHIN_MS = 30_000
/** Progress is read every two seconds: if it does not change for this long, it is worth checking whether CDI works. */
const QUIET_MS = 10_000

/** The most that was observed of an importer pod. */
interface SeenPod {
  starts: number
  isGoing: boolean
  /** It did its work, see {@link hasCompleted}. Kept: the last status of a deleted pod may show less. */
  hasFinished: boolean
  hasScratch: boolean
}

/**
 * Remembers since when a download has made no progress, and what its importer pods did: a pod that is gone shows nothing any more. A new
 * process learns from the status which pod ran. It starts timeouts again, which errs on the side of letting a download continue.
 */
export class ProgressWatch {
  readonly #clock: Clock
  readonly #pulse: Pick<LeasePulse, 'workedUntil' | 'isSilent'>
  readonly #seen = new Map<string, Seen>()
  /** When CDI last acted on any download, and when the operator last found that it acts on none; by the monotonic clock. */
  #actedAt = Number.NEGATIVE_INFINITY
  #awayAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, pulse: Pick<LeasePulse, 'workedUntil' | 'isSilent'>) {
    this.#clock = clock
    this.#pulse = pulse
  }

  /** Observes the running download of an image. */
  look(imageUid: string, sight: Sight): Observation {
    const { dataVolume, importers, knownPodUid } = sight
    const uid = dataVolume.metadata.uid ?? ''
    const now = this.#clock.monotonic()
    const { phase, progress, bound, running } = dataVolume
    const fingerprint = [phase, progress, bound.reason, running.reason, running.status].join('\n')
    const before = this.#seen.get(imageUid)
    const seen: Seen = before?.uid === uid ? before : unseen(uid, fingerprint, now, knownPodUid)
    if (seen.fingerprint !== fingerprint) {
      Object.assign(seen, { fingerprint, since: now })
      this.#actedAt = now
    }
    for (const pod of importers) takePod(seen, pod)
    const starts = startsOf(seen)
    seen.downloads = Math.max(seen.downloads, downloadsOf(dataVolume, starts))
    seen.dueSince = this.#dueSince(seen, sight)
    this.#seen.set(imageUid, seen)
    return {
      dataVolumeUid: uid,
      importers,
      seenMs: now - seen.seenAt,
      unchangedMs: this.#unchangedMs(seen),
      importerPodUid: importerOf(seen),
      starts,
      isImporterLost: isImporterLost(seen, importers),
    }
  }

  /** Reports whether CDI acts on nothing, though something is due or its Lease is not renewed. */
  get isCdiAway(): boolean {
    const now = this.#clock.monotonic()
    const isDue = [...this.#seen.values()].some(({ dueSince = now }) => now - dueSince >= CDI_ACTS_WITHIN_MS)
    const isAway = now - this.#actedAt >= CDI_ACTS_WITHIN_MS && (isDue || this.#pulse.isSilent)
    if (isAway) this.#awayAt = now
    return isAway
  }

  /** Time while CDI is away does not count against a download. If a download runs and shows nothing, either may be the cause. */
  #unchangedMs({ since }: Seen): number {
    const now = this.#clock.monotonic()
    const from = Math.max(since, this.#awayAt)
    const isQuiet = now - from >= QUIET_MS || this.#pulse.isSilent
    const until = isQuiet ? this.#pulse.workedUntil() : now
    return Math.max(0, until - from)
  }

  /** CDI creates the claim of a new DataVolume, and reports the end of an importer, within milliseconds. */
  #dueSince({ dueSince }: Seen, { dataVolume, hasClaim, importers, wasDue }: Sight): number | undefined {
    if (isTerminating(dataVolume)) return undefined
    // CDI reports what keeps it from handing over a volume.
    const isDone = importers.some((pod) => pod.phase === 'Succeeded') && claimMessageOf(dataVolume) === ''
    if (!isDone && (!isUnreported(dataVolume) || hasClaim)) return undefined
    return dueSince ?? (wasDue ? Number.NEGATIVE_INFINITY : this.#clock.monotonic())
  }

  /** Returns what is still known of a download whose DataVolume is gone. Its importers may live on, and start again until they are deleted. */
  recall(imageUid: string, dataVolumeUid: string | undefined, present: readonly PodView[]): Observation {
    const seen = this.#seen.get(imageUid)
    if (seen === undefined || seen.uid !== dataVolumeUid) return NOTHING_SEEN
    for (const pod of present) if (seen.pods.has(pod.metadata.uid ?? '')) takePod(seen, pod)
    seen.downloads = Math.max(seen.downloads, startsOf(seen) ?? 0)
    seen.dueSince = undefined
    return { ...NOTHING_SEEN, dataVolumeUid, starts: seen.downloads }
  }

  forget(imageUid: string): void {
    this.#seen.delete(imageUid)
  }
}

function unseen(uid: string, fingerprint: string, since: number, knownPodUid: string | undefined): Seen {
  return { uid, fingerprint, seenAt: since, since, pods: new Map(), knownPodUid, downloads: 0, dueSince: undefined }
}

function takePod({ pods }: Seen, { metadata, phase, hasScratch, importer }: PodView): void {
  const { uid = '', deletionTimestamp } = metadata
  const before = pods.get(uid)
  pods.set(uid, {
    // A pod that is being deleted starts no more containers, whatever its kubelet reports in the end.
    starts: before?.isGoing ? before.starts : Math.max(before?.starts ?? 0, importer.starts),
    isGoing: deletionTimestamp !== undefined,
    hasFinished: before?.hasFinished === true || phase === 'Succeeded' || hasCompleted(importer),
    hasScratch,
  })
}

/** Returns its importer pods by uid. The one that the status names ran, even if this process never observed it. */
function podsOf({ pods, knownPodUid }: Seen): readonly (readonly [uid: string, pod: SeenPod])[] {
  if (knownPodUid === undefined || pods.has(knownPodUid)) return [...pods]
  return [[knownPodUid, { starts: 1, isGoing: false, hasFinished: false, hasScratch: false }], ...pods]
}

/** Returns the downloads that are known to have started; undefined if no pod was observed. */
function startsOf(seen: Seen): number | undefined {
  const pods = podsOf(seen)
  if (pods.length === 0) return undefined
  // CDI gives scratch space only when an importer asked for it by its end, even if that end was never observed.
  const last = pods.findLastIndex(([, { hasScratch }]) => hasScratch)
  const hasAsked = (uid: string, pod: SeenPod, at: number) => at < last && !pod.hasScratch && seen.pods.has(uid)
  return pods.reduce((sum, [uid, pod], at) => sum + (pod.hasFinished || hasAsked(uid, pod, at) ? 0 : pod.starts), 0)
}

/** Returns the latest pod that ran. */
function importerOf({ pods, knownPodUid }: Seen): string | undefined {
  return [...pods].findLast(([, { starts }]) => starts > 0)?.[0] ?? knownPodUid
}

/**
 * Reports whether a pod that ran is being deleted before it finished, or another pod has replaced it. A pod with scratch space is no
 * replacement: it follows the first pod, which only found out that scratch space is needed.
 */
function isImporterLost(seen: Seen, present: readonly PodView[]): boolean {
  const living = present.filter((pod) => !isTerminating(pod))
  const isReplaced = (uid: string, hadScratch: boolean) =>
    !present.some(({ metadata }) => metadata.uid === uid) &&
    living.some(({ metadata, hasScratch }) => metadata.uid !== uid && (hadScratch || !hasScratch))
  return podsOf(seen).some(
    ([uid, { starts, isGoing, hasFinished, hasScratch }]) =>
      starts > 0 && !hasFinished && (isGoing || isReplaced(uid, hasScratch)),
  )
}
