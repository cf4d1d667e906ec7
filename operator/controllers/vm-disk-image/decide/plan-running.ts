import type { Reason, VMDiskImageStatus } from '@open-terrain/constructs'
import { attemptOf, awaitedBy, downloadsOf, isBlind, isFinished, NOTHING_SEEN } from '../../../cluster/import-facts.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { DATA_VOLUME } from '../../../kube/resource-types.ts'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { type Removal, referTo, removalOf, unchanged } from '../../../runtime/plan.ts'
import type { Precondition } from '../../../runtime/preconditions.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import { type ImageWorld, isRecorded } from '../world.ts'
import { nextAttempt, recordCancel, recordFailure, recount, renewed, subjectOf } from './attempts.ts'
import {
  type ImageDraft,
  type ImagePlan,
  planAt,
  planWith,
  runningImporters,
  unreferenced,
  withImporter,
} from './image-plan.ts'
import { type Failure, judgeDataVolume, type Verdict } from './judge.ts'
import { type ImageStanding, OUT_OF_QUEUE, withImageStanding } from './status.ts'

/** From this age on, it is worth a write to name the importer pod: the next leader can tell whether another one replaced it. */
const POD_NOTED_AFTER_MS = 30_000
/** How long an importer may take to start before the status reports that: most need less. */
const STARTING_TOLD_AFTER_MS = 2_000
const STOPPING_LOOK_MS = 60_000

/** A download that must end. */
interface Stop {
  readonly dataVolume: DataVolumeView
  /** Records how it ends. */
  readonly record: (status: VMDiskImageStatus) => VMDiskImageStatus
  readonly notes: readonly EventNote[]
  readonly onlyIf: readonly Precondition[]
}

/** Plans to end downloads that failed, were cancelled or were never admitted. While one holds a slot, the image is being stopped. */
export function planStopping(draft: ImageDraft): ImagePlan | undefined {
  const { world, now } = draft
  const stops = world.dataVolumes.flatMap((dataVolume) => stopOf(dataVolume, draft) ?? [])
  const vanished = recordVanished(draft)
  if (stops.length === 0 && vanished === undefined && !isTeardownPending(draft)) return undefined
  const ended = stops.reduce((status, stop) => stop.record(status), recount(vanished ?? draft.status, draft))
  const isOfStatus = world.observation.dataVolumeUid === ended.dataVolumeUID && isRecorded(ended)
  const recorded = isOfStatus ? withImporter(ended, world) : ended
  const onlyIf = stops.flatMap((stop) => stop.onlyIf)
  // Without a slot there is nothing to wait for: the image keeps its standing while a stray is removed.
  const standing: ImageStanding =
    world.slot === undefined ? standingStill(recorded, stops, draft) : stopping(recorded, stops, now)
  return planWith(withImageStanding({ ...recorded, progress: undefined }, standing, draft), {
    remove: stops.flatMap(({ dataVolume }) => ending(dataVolume, world)),
    events: stops.flatMap(({ notes }) => notes),
    wake: { afterMs: STOPPING_LOOK_MS, because: 'a download should have stopped by then' },
    ...(onlyIf.length > 0 && { onlyIf }),
  })
}

/**
 * Deletes a DataVolume, and after it the importers that run: CDI would end them too, but later, and the kubelet restarts a failed importer at once.
 * Not before it: CDI would replace them.
 */
function ending(dataVolume: DataVolumeView, world: ImageWorld): Removal[] {
  const removals = removalOf(dataVolume)
  if (removals.length === 0 || world.observation.dataVolumeUid !== dataVolume.metadata.uid) return removals
  return [...removals, ...runningImporters(world).map(referTo)]
}

function standingStill(status: VMDiskImageStatus, stops: readonly Stop[], { world, now }: ImageDraft): ImageStanding {
  const { phase = 'Queued', message = '' } = world.image.status
  const reason = reasonOf(world.image.status) as Reason | undefined
  if (phase === 'Succeeded' && status.artifact !== undefined)
    return { phase, reason: reason ?? 'Synced', message, stalled: reason === 'NameConflict' }
  // What failed for good is not revived by the removal of something else.
  if (phase === 'Failed') return { phase, reason: reason ?? 'RetryLimitExceeded', message, stalled: true }
  const left = stops.find(({ dataVolume }) => isLate(dataVolume, now))?.dataVolume
  const until =
    left === undefined ? '' : `; the next one starts when DataVolume ${left.metadata.name} is gone${keptBy(left)}`
  return { phase: 'Queued', reason: 'Stopping', message: `the operator stops a download of this image${until}` }
}

function stopping({ attempts, nextRetryTime }: VMDiskImageStatus, stops: readonly Stop[], now: number): ImageStanding {
  const last = attempts?.at(-1)
  const why = last === undefined ? 'the download is being stopped' : `attempt ${last.number}: ${last.message}`
  const next = nextRetryTime === undefined ? '' : `; next attempt at ${nextRetryTime}`
  const first = stops[0]?.dataVolume
  const late = isLate(first, now)
    ? `; its DataVolume should be gone by now: check that CDI and its webhook (cdi-apiserver) run${keptBy(first)}`
    : ''
  const message = `${why}; waiting until its importer pod is gone${next}${late}`
  return { phase: 'Syncing', reason: 'Stopping', message }
}

function isLate(dataVolume: DataVolumeView | undefined, now: number): boolean {
  const since = fromTime(dataVolume?.metadata.deletionTimestamp)
  return since !== undefined && now - since >= STOPPING_LOOK_MS
}

/** Names what keeps an object that is being deleted. */
function keptBy(object: DataVolumeView | undefined): string {
  const { finalizers = [] } = object?.metadata ?? {}
  return finalizers.length === 0 ? '' : `; it is kept by ${finalizers.join(', ')}`
}

/** Its DataVolume is gone, no matter who deleted it, and the slot is held until a live read confirms that. */
function isTeardownPending({ world, status: { attempts, dataVolumeUID: uid } }: ImageDraft): boolean {
  const record = uid === undefined ? undefined : attempts?.find(({ dataVolumeUID }) => dataVolumeUID === uid)
  const hasNotSucceeded = record !== undefined && record.outcome !== 'Succeeded'
  return world.slot !== undefined && world.dataVolumes.every(isFinished) && hasNotSucceeded
}

/** Records a running download whose DataVolume is gone though the operator did not delete it. It may cost as much as a failure. */
function recordVanished({ status, world, now }: ImageDraft): VMDiskImageStatus | undefined {
  const { dataVolumeUID: uid, attempt: number = 1, startedAt } = status
  const before = world.image.status
  const wasUnderWay = before.phase === 'Syncing' && uid !== undefined && !isRecorded(status)
  if (!wasUnderWay || world.dataVolumes.some(({ metadata }) => metadata.uid === uid)) return undefined
  const { revision = '', requestedBy } = before
  const subject = { uid, number, revision, createdAt: startedAt, restarts: 0, requestedBy }
  const isOfBudget = before.revision === status.revision && before.budget?.key === status.budget?.key
  if (!isOfBudget) return recordCancel(status, subject, 'DataVolumeDeleted', DELETED, now)
  // If its importer was not observed, it counts as one download.
  return recordFailure(status, subject, deletedBySomebody(world.observation.starts ?? 1), world, now)
}

const DELETED = 'its DataVolume was deleted by somebody before it was done'

function deletedBySomebody(downloads: number): Failure {
  return { state: 'failed', reason: 'DataVolumeDeleted', message: DELETED, permanent: false, downloads }
}

function stopOf(dataVolume: DataVolumeView, draft: ImageDraft): Stop | undefined {
  const { world, target, status, now } = draft
  const { name, uid, deletionTimestamp } = dataVolume.metadata
  const subject = subjectOf(dataVolume, world.image.status)
  /** Not an attempt of the operator, or one whose end is already recorded. */
  const stray: Stop = { dataVolume, record: (before) => before, notes: [], onlyIf: [] }
  const cancelled = (reason: Reason, message: string): Stop => {
    return { ...stray, record: (before) => recordCancel(before, subject, reason, message, now) }
  }
  const failed = (failure: Failure): Stop => {
    const record = (before: VMDiskImageStatus) => recordFailure(before, subject, failure, world, now)
    // It has used no download, according to the caches: an importer may have started since.
    return { ...stray, record, onlyIf: failure.downloads === 0 ? [unchanged(DATA_VOLUME, dataVolume)] : [] }
  }
  const verdict = judged(dataVolume, draft)
  if (verdict.state === 'finished') return undefined
  if (verdict.state === 'importing-again') {
    // CDI reports the same for one that is already being deleted.
    if (deletionTimestamp !== undefined) return stray
    const message = `DataVolume ${name} began to download again because somebody deleted its claim: the operator stops it`
    return { ...stray, notes: [{ type: 'Warning', reason: 'ClaimDeleted', message }] }
  }
  if (isRecorded(status, uid)) return stray
  if (name !== target.volumeName) return cancelled('SpecChanged', 'another revision is wanted now')
  // A create whose response was lost took effect after all, long after its attempt failed.
  if (attemptOf(dataVolume) < nextAttempt(status)) return stray
  if (draft.expiry.isReached) {
    const message = 'nothing has referred to the image for its unreferencedTTL'
    return { ...cancelled('Unreferenced', message), onlyIf: [unreferenced(world, 'anyone')] }
  }
  if (draft.isSuspended) {
    const { record } = cancelled('Suspended', 'suspended')
    return { ...stray, record: (before) => renewed(record(before)) }
  }
  if (verdict.state === 'failed') return failed(verdict)
  if (world.slot === undefined && world.isSlotKnown)
    return cancelled('NotAdmitted', `DataVolume ${name} has no slot in the ledger: the operator stops it`)
  if (deletionTimestamp === undefined) return undefined
  return failed(deletedBySomebody(downloadsOf(dataVolume, world.observation.starts)))
}

function judged(dataVolume: DataVolumeView, { world, now, status, target: { sourceType } }: ImageDraft): Verdict {
  const { uid, creationTimestamp } = dataVolume.metadata
  const isCurrent = status.dataVolumeUID === uid
  const startedAt = fromTime(isCurrent ? status.startedAt : creationTimestamp) ?? now
  const { policy, isCdiAway, lookup } = world
  const observation = world.observation.dataVolumeUid === uid ? world.observation : NOTHING_SEEN
  const before = status.attempts?.findLast(({ outcome, dataVolumeUID, revision }) => {
    return outcome === 'Failed' && dataVolumeUID !== uid && revision === status.revision
  })
  const ofError = { sourceType, errorBefore: before?.message }
  const ageMs = Math.max(0, now - startedAt)
  return judgeDataVolume(dataVolume, {
    ...policy,
    ...ofError,
    isCdiAway,
    observation,
    ageMs,
    podQuotas: lookup.podQuotas,
  })
}

/** Plans for a download that holds its slot and has not failed. */
export function planRunning(draft: ImageDraft): ImagePlan | undefined {
  const { world, now, dataVolume, status } = draft
  const { observation, image } = world
  if (dataVolume === undefined || isFinished(dataVolume)) return undefined
  if (!world.isSlotKnown) return planWith(image.status, {})
  const { uid } = dataVolume.metadata
  const isNew = status.dataVolumeUID !== uid
  const before: VMDiskImageStatus = isNew ? {} : status
  // Once started, it stays started: an importer that succeeded no longer counts as a start, and CDI may report its run only later.
  const hasRun = downloadsOf(dataVolume, observation.starts) > 0 || before.startedAt !== undefined
  const startsWithinMs = STARTING_TOLD_AFTER_MS - observation.seenMs
  if (isNew && !hasRun && startsWithinMs > 0)
    return planWith(image.status, { wake: { afterMs: startsWithinMs, because: 'its importer should run by then' } })
  const attempt = attemptOf(dataVolume)
  // Set at the first byte: the time that it waited before does not count.
  const startedAt = hasRun ? (before.startedAt ?? toTime(now)) : undefined
  const ageMs = now - (fromTime(startedAt) ?? now)
  const next: VMDiskImageStatus = {
    ...status,
    attempt,
    dataVolumeUID: uid,
    startedAt,
    importerPodUID: ageMs < POD_NOTED_AFTER_MS ? before.importerPodUID : observation.importerPodUid,
    progress: dataVolume.progress || undefined,
    ...OUT_OF_QUEUE,
  }
  const { stallTimeoutMs, attemptTimeoutMs, retryLimit } = world.policy
  const standing = running(dataVolume, hasRun, `attempt ${attempt} of ${1 + retryLimit}`, world)
  const toStallMs = isBlind(dataVolume, observation) ? attemptTimeoutMs : stallTimeoutMs - observation.unchangedMs
  const leftMs = Math.min(toStallMs, attemptTimeoutMs - ageMs, 30_000)
  const wake = { afterMs: Math.max(1_000, leftMs), because: 'a stalled download would be stopped then' }
  return planAt(draft, next, standing, { wake })
}

function running(dataVolume: DataVolumeView, hasRun: boolean, attempt: string, world: ImageWorld): ImageStanding {
  const phase = 'Syncing'
  const { isCdiAway, observation } = world
  const isDone = observation.importers.some((pod) => pod.phase === 'Succeeded')
  if (isCdiAway && (!hasRun || isDone)) {
    const message =
      'CDI does not act on its DataVolume: see whether cdi-deployment runs; the image keeps its slot, uses no attempt, and continues when CDI is back'
    return { phase, reason: 'CDINotResponding', message }
  }
  const isUnseen = isBlind(dataVolume, observation) && observation.unchangedMs >= world.policy.stallTimeoutMs
  const unseen = isUnseen
    ? '; CDI cannot tell how far it is, so it is stopped only after the policy key attemptTimeout: see whether CDI may reach the metrics port (8443) of its importer pods'
    : ''
  if (hasRun) return { phase, reason: 'Syncing', message: `downloading, ${attempt}${unseen}` }
  return { phase, reason: 'Starting', message: `waiting for ${awaitedBy(dataVolume, observation)}, ${attempt}` }
}
