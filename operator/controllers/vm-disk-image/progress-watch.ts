import type { CdiPulse } from '../../cluster/cdi-pulse.ts'
import { saidOfClaim } from '../../cluster/said-of-claim.ts'
import type { DataVolumeView, PodView } from '../../cluster/views.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isUntold } from './decide/awaited.ts'
import { downloadsOf } from './decide/judge.ts'
import { NOTHING_SEEN, type Observation } from './world.ts'

interface Seen {
  readonly uid: string
  fingerprint: string
  /** When it was first seen, and when it last moved. */
  readonly seenAt: number
  since: number
  /** Its importer pods, by uid. */
  readonly pods: Map<string, SeenPod>
  /** The one that the status names ran before this process looked. */
  readonly knownPodUid: string | undefined
  /** The most downloads that were counted for it. */
  downloads: number
  /** Since when CDI should have acted on it; undefined while it is the turn of somebody else. */
  dueSince: number | undefined
}

/** What there is of an unfinished download. */
export interface Sight {
  readonly dataVolume: DataVolumeView
  /** CDI has made its claim. */
  readonly hasClaim: boolean
  /** Its importers; ended and leaving ones included. */
  readonly importers: readonly PodView[]
  /** Uid of the importer that the status names. */
  readonly knownPodUid: string | undefined
  /** The status says that CDI does not act on it: a process before this one has waited for that. */
  readonly wasDue: boolean
}

/** Long for a controller that acts on events. */
const CDI_ACTS_WITHIN_MS = 30_000
/** Its progress is read every two seconds: one that stands still for so long makes it worth asking whether CDI is there. */
const QUIET_MS = 10_000

/** The most that was seen of an importer pod. */
interface SeenPod {
  starts: number
  isGoing: boolean
  /** It did what it was for: downloaded, or found out that scratch space is needed. */
  hasFinished: boolean
  hasScratch: boolean
}

/**
 * Remembers since when a download has not moved, and what its importer pods did: a pod that is gone tells nothing any more. A new process
 * learns from the status which pod has run; its patience begins again, which errs on the side of letting a download go on.
 */
export class ProgressWatch {
  readonly #clock: Clock
  readonly #pulse: Pick<CdiPulse, 'workedUntil' | 'isSilent'>
  readonly #seen = new Map<string, Seen>()
  /** When CDI last acted on any download, and when the operator last found that it acts on none; by the monotonic clock. */
  #actedAt = Number.NEGATIVE_INFINITY
  #awayAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, pulse: Pick<CdiPulse, 'workedUntil' | 'isSilent'>) {
    this.#clock = clock
    this.#pulse = pulse
  }

  /** Looks at the running download of an image. */
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

  /** Whether CDI acts on nothing, though something is due. */
  get isCdiAway(): boolean {
    const now = this.#clock.monotonic()
    const isDue = [...this.#seen.values()].some(({ dueSince = now }) => now - dueSince >= CDI_ACTS_WITHIN_MS)
    const isAway = now - this.#actedAt >= CDI_ACTS_WITHIN_MS && (isDue || this.#pulse.isSilent)
    if (isAway) this.#awayAt = now
    return isAway
  }

  /** What CDI did not do while it was away is not held against a download. That it runs and shows nothing may be the doing of either. */
  #unchangedMs({ since }: Seen): number {
    const now = this.#clock.monotonic()
    const from = Math.max(since, this.#awayAt)
    const isQuiet = now - from >= QUIET_MS || this.#pulse.isSilent
    const until = isQuiet ? this.#pulse.workedUntil() : now
    return Math.max(0, until - from)
  }

  /** A new DataVolume gets a claim, and the end of an importer is noted, within milliseconds. */
  #dueSince({ dueSince }: Seen, { dataVolume, hasClaim, importers, wasDue }: Sight): number | undefined {
    if (dataVolume.metadata.deletionTimestamp !== undefined) return undefined
    // CDI says what keeps it from handing a volume over.
    const isDone = importers.some((pod) => pod.phase === 'Succeeded') && saidOfClaim(dataVolume) === ''
    if (!isDone && (!isUntold(dataVolume) || hasClaim)) return undefined
    return dueSince ?? (wasDue ? Number.NEGATIVE_INFINITY : this.#clock.monotonic())
  }

  /** What is still known of a download whose DataVolume is gone. */
  recall(imageUid: string, dataVolumeUid: string | undefined): Observation {
    const seen = this.#seen.get(imageUid)
    if (seen === undefined || seen.uid !== dataVolumeUid) return NOTHING_SEEN
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
    // No container of a pod that is being deleted starts any more, whatever its kubelet says in the end.
    starts: before?.isGoing ? before.starts : Math.max(before?.starts ?? 0, importer.starts),
    isGoing: deletionTimestamp !== undefined,
    hasFinished: phase === 'Succeeded',
    hasScratch,
  })
}

/** Downloads that began, as far as anybody saw; undefined where nobody saw a pod. */
function startsOf({ pods, knownPodUid }: Seen): number | undefined {
  const isUnseen = knownPodUid !== undefined && !pods.has(knownPodUid)
  if (pods.size === 0 && !isUnseen) return undefined
  let starts = isUnseen ? 1 : 0
  for (const pod of pods.values()) if (!pod.hasFinished) starts += pod.starts
  return starts
}

/** The latest that has run. */
function importerOf({ pods, knownPodUid }: Seen): string | undefined {
  return [...pods].findLast(([, { starts }]) => starts > 0)?.[0] ?? knownPodUid
}

/**
 * Whether one that has run is being deleted unfinished, or another one has taken its place. The one with scratch space is no such other
 * one: it follows the first, which only found that out.
 */
function isImporterLost({ pods, knownPodUid }: Seen, present: readonly PodView[]): boolean {
  const living = present.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const isReplaced = (uid: string, hadScratch: boolean) =>
    !present.some(({ metadata }) => metadata.uid === uid) &&
    living.some(({ metadata, hasScratch }) => metadata.uid !== uid && (hadScratch || !hasScratch))
  const isKnownReplaced = knownPodUid !== undefined && !pods.has(knownPodUid) && isReplaced(knownPodUid, false)
  return (
    isKnownReplaced ||
    [...pods].some(
      ([uid, { starts, isGoing, hasFinished, hasScratch }]) =>
        starts > 0 && !hasFinished && (isGoing || isReplaced(uid, hasScratch)),
    )
  )
}
