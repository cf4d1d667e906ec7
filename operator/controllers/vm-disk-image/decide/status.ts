import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type Attempt,
  MANAGER,
  memoizedLately,
  REQUESTER_MAX,
  type Reason,
  VM_DISK_IMAGE_CONDITIONS as TYPE,
  VM_DISK_IMAGE_CONDITION_RULES,
  type VMDiskImagePhase,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { redactUrls } from '../../../base/messages.ts'
import { toTime } from '../../../base/time.ts'
import { hasLostVolume } from '../../../cluster/views.ts'
import { creatorOf } from '../../../images/decide/image-creator.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { type ShownReferences, shownReferences } from '../../../images/references.ts'
import {
  conditionsOf,
  cutMessage,
  type SayingOf,
  type Sayings,
  saidBefore,
  saying,
} from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { courseConditions, reasonOf } from '../../../runtime/summary.ts'
import { type ImageWorld, isRecorded } from '../world.ts'
import type { SayingOnAdoption } from './judge-adoption.ts'
import { AT_WORK } from './target.ts'

/** The state of an image, in the words that people read. */
export interface ImageSummary {
  readonly phase: VMDiskImagePhase
  readonly reason: Reason
  readonly message: string
  /** It cannot go on until somebody changes something. */
  readonly stalled?: boolean
  /** Nothing happens until somebody acts. An image that waits like this is at rest, like one that succeeded or failed. */
  readonly isHeldBack?: boolean
  /** Set when it is not the reason of `phase` that explains why there is, or is no, artifact of the wanted revision. */
  readonly upToDate?: boolean
}

/** Status fields of an image that has no place in the queue. */
export const OUT_OF_QUEUE = { queuePosition: undefined, queuePositionTime: undefined } as const

type Rules = typeof VM_DISK_IMAGE_CONDITION_RULES
type SayingOn<Type extends keyof Rules> = SayingOf<Rules[Type], Reason>

/** What is said with a summary, beside what follows from it. */
interface Moment {
  readonly world: ImageWorld
  readonly now: number
  /** Absent: what was adopted stays as it was, since the spec cannot be used, or the image is deleted. */
  readonly adopted?: SayingOnAdoption | undefined
  /** Default: as it was. */
  readonly blocked?: SayingOn<'DeletionBlocked'>
}

/** Completes a status with phase, message and conditions of this summary. Times change only if something else changed. */
export function withImageSummary(status: VMDiskImageStatus, summary: ImageSummary, moment: Moment): VMDiskImageStatus {
  const { world, now, blocked } = moment
  const { phase, reason } = summary
  const message = cutMessage(summary.message)
  const references = shownReferences(world.references)
  const { generation } = world.image.metadata
  const said: Sayings<Rules, Reason> = {
    DeletionBlocked: blocked,
    ...ofSummary(status, { ...summary, message }, references),
    SourceWarning: packedSource(world),
    ArtifactLost: lostArtifact(world, status),
    Adopted: 'adopted' in moment ? moment.adopted : saidBefore(status.conditions, TYPE.Adopted),
  }
  const isAtRest = phase === 'Succeeded' || phase === 'Failed' || summary.isHeldBack === true
  return withoutUndefined({
    ...status,
    observedGeneration: generation,
    phase,
    reason,
    message,
    conditions: conditionsOf(VM_DISK_IMAGE_CONDITION_RULES, said, status.conditions, { generation, now }),
    references,
    ...timesOfReferences(status, references.count, isAtRest, now),
  })
}

/** Endings of what CDI stores as it is, and then calls a disk. It unpacks gzip and xz, but no archives. */
const PACKED = /\.(zst|zstd|bz2|lz4|lzma|7z|rar|zip|ova|tgz|txz|tar(\.[a-z0-9]+)?)$/i

const packedEndingOf = memoizedLately(AT_WORK, (url: string) => {
  return PACKED.exec(URL.canParse(url) ? new URL(url).pathname : url)?.[0]
})

/** A remark on a source whose name says that CDI cannot unpack it: such a download succeeds, and its disk is of no use. */
function packedSource({ spec }: ImageWorld): SayingOn<'SourceWarning'> | undefined {
  const { url, sourceType } = spec.ok ? spec.spec : {}
  if (url === undefined || sourceType === 'registry') return undefined
  const ending = packedEndingOf(url)
  if (ending === undefined) return undefined
  const message = `spec.url ends in ${ending}, which CDI does not unpack: it writes the packed bytes to the disk, and the download succeeds all the same; name a raw, qcow2, vmdk, vdi, vhd or vhdx image, as it is or packed with gzip or xz`
  return saying(true, { reason: 'PackedSource', message })
}

/** From the loss on until there is an artifact again. */
function lostArtifact(
  { image: { status: before }, claims }: ImageWorld,
  { artifact, adoption }: VMDiskImageStatus,
): SayingOn<'ArtifactLost'> | undefined {
  if (artifact !== undefined) return undefined
  if (before.artifact === undefined) return saidBefore(before.conditions, TYPE.ArtifactLost)
  const { kind, name } = before.artifact
  const isThere =
    kind === 'PersistentVolumeClaim' && claims.some((one) => one.metadata.name === name && hasLostVolume(one))
  const again =
    before.artifact.adoptedUID !== undefined && adoption !== undefined
      ? 'is gone, or is being deleted'
      : 'is gone: it is made again'
  const what = isThere ? 'has lost its volume: nothing can be cloned from it' : again
  const message = `${kind} ${name}, from which disks were cloned, ${what}`
  return saying(true, { reason: 'ArtifactLost', message })
}

/** What follows from a summary, and from what refers to the image. */
function ofSummary(status: VMDiskImageStatus, summary: ImageSummary, references: ShownReferences) {
  const { phase, reason, message, stalled = false } = summary
  const isReady = status.artifact !== undefined
  const isUpToDate = isReady && (summary.upToDate ?? status.artifact?.revision === status.revision)
  const isBusy = phase !== 'Succeeded' && phase !== 'Failed' && !stalled
  const isSettled = phase === 'Failed' || (phase === 'Succeeded' && isUpToDate)
  const here: Cause = { reason, message }
  const synced: Cause = { reason: 'Synced', message: 'the artifact was made from the current spec' }
  return {
    Ready: saying(isReady, isReady ? whyReady(status, isUpToDate, message) : here),
    UpToDate: saying(isUpToDate, isUpToDate ? synced : here),
    ...courseConditions(here, { isBusy, isStalled: stalled, isSettled }),
    Unreferenced: saying(references.count === 0, whoRefers(references)),
  }
}

type Cause = Pick<ImageSummary, 'reason' | 'message'>

function whyReady({ artifact }: VMDiskImageStatus, isUpToDate: boolean, message: string): Cause {
  const what = `${artifact?.kind} ${artifact?.name} can be cloned`
  if (isUpToDate) return { reason: 'Synced', message: what }
  return { reason: 'Refreshing', message: `${what}; it was made from an earlier revision (${message})` }
}

function whoRefers({ count, names }: ShownReferences): Omit<SayingOn<'Unreferenced'>, 'status'> {
  if (count > 0) return { reason: 'Referenced', message: `referenced by ${names.join(', ')}` }
  const message = 'no VirtualMachine, Workspace or DataSync names this image, and no clone reads from it'
  return { reason: 'Unreferenced', message }
}

/**
 * Returns when something last referred to an image, and since when nothing does. Both are kept from then on. For an image that was
 * never referenced, the latter starts when its sync is at rest, and again after the next sync: until then somebody wants it.
 */
export function timesOfReferences(
  status: VMDiskImageStatus,
  count: number,
  isAtRest: boolean,
  now: number,
): Pick<VMDiskImageStatus, 'lastReferencedTime' | 'unreferencedSince'> {
  const { lastReferencedTime: before, unreferencedSince: since } = status
  if (count > 0) return { lastReferencedTime: before, unreferencedSince: undefined }
  const lastReferencedTime = (status.references?.count ?? 0) > 0 ? toTime(now) : before
  if (lastReferencedTime !== undefined) return { lastReferencedTime, unreferencedSince: since ?? lastReferencedTime }
  return { lastReferencedTime, unreferencedSince: isAtRest ? (since ?? toTime(now)) : undefined }
}

/** A refusal by the API server is reported at once: people may have to change a quota or a policy. */
export function refusalEvent(error: Error): EventNote {
  const message = `the API server refuses what this image needs: ${redactUrls(error.message)}`
  return { type: 'Warning', reason: 'Refused', message }
}

/** What happened between two statuses, for people who read `kubectl describe`. */
export function imageEventsBetween(
  image: Pick<ImageView, 'metadata' | 'status' | 'changedBy'>,
  after: VMDiskImageStatus,
  retryLimit: number,
): EventNote[] {
  const { status: before } = image
  return [
    ...warned(TYPE.ArtifactLost, before, after),
    ...endedAttempts(before, after, retryLimit),
    ...startedAttempt(image, after, retryLimit),
    ...publishedArtifact(before, after),
    ...blockedDeletion(before, after),
    ...needlessRetry(image, after),
    ...warned(TYPE.SourceWarning, before, after),
    ...changedReason(before, after),
  ]
}

/** Tells who asks for a retry of what has its artifact, with the write that records the request. */
function needlessRetry(
  { metadata, status }: Pick<ImageView, 'metadata' | 'status'>,
  after: VMDiskImageStatus,
): EventNote[] {
  const isRecorded = status.budget !== undefined && status.budget.key !== after.budget?.key
  const isAsked = metadata.annotations?.[ANNOTATIONS.retryRequestedAt] !== undefined && isRecorded
  const isThere = after.artifact !== undefined && after.artifact.revision === after.revision
  if (!isAsked || !isThere || status.revision !== after.revision) return []
  const message = `annotation ${ANNOTATIONS.retryRequestedAt} or a name of its credentials has changed, and the image has its artifact: nothing is downloaded; to have it downloaded again, set annotation ${ANNOTATIONS.syncRequestedAt}`
  return [{ type: 'Normal', reason: 'RetryNotCounted', message }]
}

/** Returns what the log reports about a change of state: the attempt and, if it just ended, its outcome, duration and downloads. */
export function factsBetween(before: VMDiskImageStatus, after: VMDiskImageStatus): Readonly<Record<string, unknown>> {
  const { revision, attempt, nextRetryTime } = after
  const downloadCause = reasonOf(after) === 'Syncing' ? after.cause : undefined
  const ended: Partial<Attempt> = newAttempts(before, after).at(-1) ?? {}
  const { outcome, reason: cause, durationSeconds, downloads } = ended
  return withoutUndefined({
    revision,
    attempt,
    downloadCause,
    outcome,
    cause,
    durationSeconds,
    downloads,
    nextRetryTime,
  })
}

function newAttempts(before: VMDiskImageStatus, { attempts = [] }: VMDiskImageStatus): readonly Attempt[] {
  if (attempts === before.attempts || attempts.length === 0) return []
  const known = new Set((before.attempts ?? []).map(({ dataVolumeUID }) => dataVolumeUID))
  return attempts.filter(({ dataVolumeUID }) => !known.has(dataVolumeUID))
}

function endedAttempts(before: VMDiskImageStatus, after: VMDiskImageStatus, retryLimit: number): EventNote[] {
  const next = after.nextRetryTime === undefined ? '' : `; next attempt at ${after.nextRetryTime}`
  return newAttempts(before, after).flatMap(({ outcome, reason, number, message }): EventNote[] => {
    if (outcome === 'Succeeded') return []
    if (reason === 'SpecChanged' || reason === 'Suspended' || reason === 'Unreferenced')
      return [{ type: 'Normal', reason: 'SyncCancelled', message }]
    if (outcome === 'Cancelled') return [{ type: 'Warning', reason, message: `${message}${next}` }]
    const text = `attempt ${number} of ${1 + retryLimit} failed: ${message}${next}`
    return [{ type: 'Warning', reason, message: text }]
  })
}

function startedAttempt(
  image: Pick<ImageView, 'metadata' | 'status' | 'changedBy'>,
  after: VMDiskImageStatus,
  retryLimit: number,
): EventNote[] {
  const { status: before } = image
  const { dataVolumeUID, revision, attempt, cause } = after
  const wasReported = reasonOf(before) === 'Syncing' && dataVolumeUID === before.dataVolumeUID
  const isNew = reasonOf(after) === 'Syncing' && dataVolumeUID !== undefined && !wasReported
  if (!isNew || isRecorded(after)) return []
  const why = cause === undefined ? '' : `: ${cause}`
  const message = `downloading revision ${revision}, attempt ${attempt} of ${1 + retryLimit}${why}${whoAsked(image)}`
  return [{ type: 'Normal', reason: 'Syncing', message }]
}

/** Who wrote the spec or asked for a new try, as the object says. An image that the operator made has its creator. */
function whoAsked(image: Pick<ImageView, 'metadata' | 'changedBy'>): string {
  const { changedBy } = image
  if (changedBy !== undefined && changedBy !== MANAGER) return `; last changed by ${changedBy}`
  const creator = creatorOf(image)
  return creator === undefined ? '' : `; made for ${creator.kind} ${creator.key}`
}

/** Returns who asks for what the image now wants: its last writer, or for an image that the operator made, its creator. */
export function requesterOf(image: Pick<ImageView, 'metadata' | 'changedBy'>): string | undefined {
  const { changedBy } = image
  if (changedBy !== undefined && changedBy !== MANAGER) return changedBy.slice(0, REQUESTER_MAX)
  const creator = creatorOf(image)
  return creator && `${creator.kind}/${creator.key}`.slice(0, REQUESTER_MAX)
}

function publishedArtifact({ artifact: before }: VMDiskImageStatus, { artifact }: VMDiskImageStatus): EventNote[] {
  const isNew = artifact !== undefined && artifact.publishedAt !== before?.publishedAt
  if (!isNew) return []
  return [{ type: 'Normal', reason: 'Synced', message: `${artifact.kind} ${artifact.name} is ready to be cloned` }]
}

/** Reported once, even if users come and go meanwhile. */
function blockedDeletion(before: VMDiskImageStatus, after: VMDiskImageStatus): EventNote[] {
  const of = ({ conditions }: VMDiskImageStatus) => conditions?.find(({ type }) => type === TYPE.DeletionBlocked)
  const blocked = of(after)
  if (blocked === undefined || of(before) !== undefined) return []
  return [{ type: 'Warning', reason: blocked.reason, message: blocked.message }]
}

function warned(remark: keyof Rules, before: VMDiskImageStatus, after: VMDiskImageStatus): EventNote[] {
  const of = ({ conditions }: VMDiskImageStatus) => conditions?.find(({ type }) => type === remark)
  const warning = of(after)
  if (warning === undefined || of(before)?.message === warning.message) return []
  return [{ type: 'Warning', reason: warning.reason, message: warning.message }]
}

/** Reasons that other Events, or the phase itself, already report. */
const SILENT: ReadonlySet<string> = new Set<Reason>([
  'Adopting',
  'Queued',
  'Paused',
  'Starting',
  'Syncing',
  'Snapshotting',
  'Synced',
  'Stopping',
  'RetryBackoff',
  'Deleting',
  'InUse',
  'RetryLimitExceeded',
  'Unreferenced',
])

function changedReason(before: VMDiskImageStatus, after: VMDiskImageStatus): EventNote[] {
  const reason = reasonOf(after)
  if (reason === undefined || reason === reasonOf(before) || SILENT.has(reason)) return []
  const hasNewAttempt = after.attempts?.length !== before.attempts?.length
  if (after.attempts?.at(-1)?.reason === reason && (hasNewAttempt || after.phase === 'Failed')) return []
  return [{ type: reason === 'Suspended' ? 'Normal' : 'Warning', reason, message: after.message ?? '' }]
}
