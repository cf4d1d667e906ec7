import {
  ANNOTATIONS,
  FINALIZERS,
  problemsText,
  type Reason,
  type SpecProblem,
  type VMDiskImageStatus,
} from '@open-terrain/constructs'
import { endingWaits } from '../../../cluster/dependents.ts'
import { isFinished } from '../../../cluster/import-facts.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { isTerminating, keyOf } from '../../../kube/kube-object.ts'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import type { Wake } from '../../../runtime/wake.ts'
import { type ImageWorld, isRecorded, type Refusal } from '../world.ts'
import {
  finalAttempt,
  nextAttempt,
  recordCancel,
  recordSuccess,
  renewed,
  subjectOf,
  withRetryTime,
} from './attempts.ts'
import { areContentsKnown, lackAfterRefusal, refusedByQuota, whatBlocks } from './checks.ts'
import { isPermanent } from './final-errors.ts'
import {
  type ImageDraft,
  type ImagePlan,
  lostChildren,
  planAt,
  planWith,
  type Start,
  withImporter,
} from './image-plan.ts'
import { dropLostArtifact, planPublication, planSteady } from './plan-artifact.ts'
import { abandoned, expired, expiryOf, planImageDeletion, withExpiry } from './plan-deletion.ts'
import { planRunning, planStopping } from './plan-running.ts'
import { type ImageStanding, imageEventsBetween, OUT_OF_QUEUE, requesterOf, withImageStanding } from './status.ts'
import { resolveTarget, type Target } from './target.ts'

/**
 * ```
 * happy path                                         a failure
 *
 * created                                            DataVolume: Running=False, Error
 *   status {ticket, Queued}      (1)                   status {attempt failed, nextRetryTime}   (before teardown)
 *   finalizer                    (2)                   DataVolume deleted, then its importer
 *   start wanted ─▶ slot taken (3)                     importer and claims gone ─▶ slot free
 *                   DataVolume   (4)                   status {Queued, RetryBackoff}
 *   status {Syncing}             (5)                   nextRetryTime
 * DataVolume Succeeded ─▶ slot free                      status {ticket, Queued} ─▶ as on the left
 *   status {Snapshotting}        (6)
 *   VolumeSnapshot               (7)
 * snapshot ready
 *   DataSource                   (8)
 *   status {Succeeded, artifact} (9)
 * ```
 * The admission (`admission.ts`) owns the slots and creates DataVolumes: a plan only says that a download is wanted.
 * Every decision follows from what was observed, never from what the operator is about to do.
 */
export function planImage(world: ImageWorld, now: number): ImagePlan {
  const plan = decide(world, now)
  const onlyIf = [...lostChildren(world, plan.status), ...(plan.onlyIf ?? [])]
  return {
    ...plan,
    ...(onlyIf.length > 0 && { onlyIf }),
    // Finished ones only: for those that still download, the admission decides by a live read.
    ...endingWaits(plan, world.dataVolumes.filter(isFinished), now),
    events: [...plan.events, ...imageEventsBetween(world.image, plan.status, world.policy.retryLimit)],
  }
}

function decide(world: ImageWorld, now: number): ImagePlan {
  if (isTerminating(world.image)) return planImageDeletion(world, now)
  if (!world.spec.ok) {
    const planned = world.image.isCut === true ? planTooLarge : planInvalid
    return planned(world, world.spec.problems, now)
  }
  const target = resolveTarget(world.spec.spec, world)
  const { spec } = world.spec
  const status = dropLostArtifact(turnTo(target, world), world)
  const expiry = expiryOf(world, status, spec, now)
  const dataVolume = world.dataVolumes.find(({ metadata }) => metadata.name === target.volumeName)
  const draft: ImageDraft = { world, now, target, dataVolume, isSuspended: spec.suspend === true, status, expiry }
  const plan =
    planStopping(draft) ??
    planRunning(draft) ??
    planSlotHolder(draft) ??
    planPublication(recordEnd(draft)) ??
    planSteady(draft) ??
    planDownload(draft)
  return withExpiry(plan, draft)
}

/** Plans for a spec that the API server would reject today. The status reports it. The image wants no slot and affects no other image. */
function planInvalid(world: ImageWorld, problems: readonly SpecProblem[], now: number): ImagePlan {
  const { status } = world.image
  const free = {
    ...withImporter(status, world),
    ...OUT_OF_QUEUE,
    ticket: undefined,
    progress: undefined,
    nextRetryTime: undefined,
  }
  const running = world.dataVolumes.filter((one) => !isFinished(one))
  const why = 'the spec is no longer valid'
  const stopped = running.reduce<VMDiskImageStatus>((recorded, one) => recordStop(recorded, one, why, now), free)
  const message = problemsText(problems)
  const standing = { phase: 'Failed', reason: 'InvalidSpec', message, stalled: true, upToDate: false } as const
  const remove = running.flatMap((one) => removalOf(one))
  return planWith(withImageStanding(stopped, standing, { world, now }), { remove })
}

/**
 * Plans for an image of which only a part is known. The status reports it, the artifact stays, and so does a download that runs, with its slot: what
 * it is for may still be what the spec says. But a slot is not held by one that fails, or takes longer than an attempt may.
 */
function planTooLarge(world: ImageWorld, problems: readonly SpecProblem[], now: number): ImagePlan {
  const { status } = world.image
  const { attemptTimeoutMs } = world.policy
  const endOf = ({ metadata }: DataVolumeView) => (fromTime(metadata.creationTimestamp) ?? now) + attemptTimeoutMs
  const running = world.dataVolumes.filter((one) => !isFinished(one) && !isTerminating(one))
  const late = running.filter((one) => one.restartCount > 0 || endOf(one) <= now)
  const kept = {
    ...withImporter(status, world),
    ...OUT_OF_QUEUE,
    ...(world.slot === undefined && { ticket: undefined }),
  }
  const why = 'the download failed or took too long while the image was too large to be acted upon'
  const stopped = late.reduce<VMDiskImageStatus>((recorded, one) => recordStop(recorded, one, why, now), kept)
  const message = problemsText(problems)
  const standing = { phase: 'Failed', reason: 'TooLarge', message, stalled: true, upToDate: false } as const
  const left = Math.min(...running.filter((one) => !late.includes(one)).map((one) => endOf(one) - now))
  return planWith(withImageStanding(stopped, standing, { world, now }), {
    remove: late.flatMap((one) => removalOf(one)),
    ...(Number.isFinite(left) && {
      wake: { afterMs: left, because: 'its download has run as long as an attempt may' },
    }),
  })
}

/** Records the stop before the teardown: the DataVolume may still be terminating when the spec becomes valid again. */
function recordStop(
  status: VMDiskImageStatus,
  dataVolume: DataVolumeView,
  why: string,
  now: number,
): VMDiskImageStatus {
  if (isRecorded(status, dataVolume.metadata.uid)) return status
  return recordCancel(status, subjectOf(dataVolume, status), 'SpecChanged', why, now)
}

/**
 * Updates the status to the wanted revision and budget and to the current policy. Drops what belongs to another revision, except
 * history. Drops the ticket too, or a place in the queue could be held for a different download.
 */
function turnTo(target: Target, { image, policy }: ImageWorld): VMDiskImageStatus {
  const { status } = image
  const isSameRevision = status.revision === target.revision
  const isSameBudget = isSameRevision && status.budget?.key === target.budgetKey
  const next: VMDiskImageStatus = {
    ...status,
    revision: target.revision,
    defaults: target.defaults,
    ...(!isSameRevision && { ticket: undefined, snapshotStartedAt: undefined, progress: undefined }),
    ...withRequester(causeOf(status, isSameRevision, isSameBudget), image),
    ...(!isSameBudget && { budget: { key: target.budgetKey, downloads: 0 }, nextRetryTime: undefined }),
    // A change that people request restarts the unreferenced time of an image that was never referenced.
    ...(!isSameBudget && status.lastReferencedTime === undefined && { unreferencedSince: undefined }),
  }
  return withRetryTime(next, policy)
}

/** Returns what the next download is for, if that has changed. What has its artifact needs none. */
function causeOf(
  { revision, artifact, budget }: VMDiskImageStatus,
  isSameRevision: boolean,
  isSameBudget: boolean,
): Pick<VMDiskImageStatus, 'cause'> {
  if (revision === undefined) return { cause: 'the image is new' }
  if (!isSameRevision) return { cause: `its spec or annotation ${ANNOTATIONS.syncRequestedAt} has changed` }
  if (isSameBudget || budget === undefined || artifact?.revision === revision) return {}
  return { cause: `annotation ${ANNOTATIONS.retryRequestedAt} or a name of its credentials has changed` }
}

/** Adds who asked. That is fixed with the cause: who writes the image later did not ask for this download. */
function withRequester(
  because: Pick<VMDiskImageStatus, 'cause'>,
  image: ImageView,
): Pick<VMDiskImageStatus, 'cause' | 'requestedBy'> {
  return because.cause === undefined ? because : { ...because, requestedBy: requesterOf(image) }
}

/**
 * Plans for an image that holds a slot while nothing downloads: its DataVolume is about to be created, or the download is over and
 * the slot is about to be freed. The admission does both, and only needs to know what to download. The status stays the same, unless
 * create requests fail or get no response.
 */
function planSlotHolder(draft: ImageDraft): ImagePlan | undefined {
  const { world, target, status } = draft
  const { slot, image } = world
  if (slot === undefined) return undefined
  if (draft.dataVolume !== undefined) return planWith(image.status, {})
  const isStillWanted =
    !draft.isSuspended &&
    !draft.expiry.isReached &&
    abandoned(draft) === undefined &&
    slot.revision === target.revision &&
    slot.attempt === nextAttempt(status) &&
    status.ticket !== undefined
  if (!isStillWanted || (whatBlocks(target, world) ?? refusalInForce(draft)) !== undefined)
    return planWith(image.status, {})
  return planWith(world.isCreateFailing ? withFailingCreate(draft) : image.status, { start: startOf(draft) })
}

/** The message has no numbers, so it is written once, however long this lasts. */
function withFailingCreate(draft: ImageDraft): VMDiskImageStatus {
  const message =
    "it has a slot, but its DataVolume is not created yet: see whether CDI's webhook (cdi-apiserver) runs and the API server reaches it; the operator tries again by itself"
  const status = { ...draft.world.image.status, ...OUT_OF_QUEUE }
  return withImageStanding(status, { phase: 'Queued', reason: 'CreateFailed', message }, draft)
}

/** Records the success of a download once it is observed. */
function recordEnd(draft: ImageDraft): ImageDraft {
  const { world, dataVolume, target, status, now } = draft
  if (dataVolume === undefined || isRecorded(status, dataVolume.metadata.uid)) return draft
  const recorded = recordSuccess(status, subjectOf(dataVolume, world.image.status, target.revision), now)
  return { ...draft, status: { ...recorded, progress: '100.0%', ...OUT_OF_QUEUE } }
}

/** Plans for an image that has no artifact and nothing in progress: reports what blocks the download, or its place in the queue. */
function planDownload(draft: ImageDraft): ImagePlan {
  const { world, now, target, status } = draft
  const rest = (next: VMDiskImageStatus, standing: ImageStanding, wake?: Wake): ImagePlan =>
    planAt(draft, { ...next, progress: undefined, ...OUT_OF_QUEUE }, standing, { wake })

  if (draft.isSuspended && !draft.expiry.isReached) {
    const message = 'spec.suspend is true: set it to false to continue'
    const standing: ImageStanding = { phase: 'Queued', reason: 'Suspended', message, isHeldBack: true }
    return rest({ ...renewed(status), ticket: undefined }, standing)
  }
  const given = failedForGood(draft) ?? expired(draft) ?? abandoned(draft)
  if (given !== undefined) return rest({ ...status, ticket: undefined }, given)
  const retryAt = fromTime(status.nextRetryTime)
  if (retryAt !== undefined && retryAt > now && !isRoomBack(draft)) {
    const wake = { afterMs: retryAt - now, because: 'the next attempt may start then' }
    const lack = lackAfterRefusal(status, world.lookup, world.image.metadata.namespace)
    const last = status.attempts?.at(-1)
    if (lack !== undefined)
      return rest({ ...status, ticket: undefined }, { phase: 'Queued', reason: 'QuotaExceeded', message: lack }, wake)
    const message = `attempt ${last?.number ?? 1} failed: ${last?.message ?? ''}; next attempt at ${status.nextRetryTime}`
    return rest({ ...status, ticket: undefined }, { phase: 'Queued', reason: 'RetryBackoff', message }, wake)
  }
  const queued = queue(draft)
  const blocked = whatBlocks(target, world) ?? refusalInForce(draft)
  if (blocked !== undefined) {
    const { reason, message, until } = blocked
    const stalled = NEEDS_SOMEBODY.has(reason)
    const because = 'a refused DataVolume is tried again'
    const wake = until === undefined ? undefined : { afterMs: Math.max(1_000, until - now), because }
    return rest(queued, { phase: 'Queued', reason, message, stalled, isHeldBack: wake === undefined }, wake)
  }
  const { queuePosition } = world
  const queuePositionTime = queuePosition === undefined ? undefined : toTime(now)
  const placed = { ...queued, progress: undefined, queuePosition, queuePositionTime }
  return planAt(draft, placed, waiting(world), { start: startOf({ ...draft, status: queued }) })
}

/**
 * Reports whether a quota refused something in the last attempt and has room for it now. Only after its first refusal: images that refuse each other the
 * room by starting at the same time are spread by the wait for a retry.
 */
function isRoomBack({ status, world: { lookup } }: ImageDraft): boolean {
  const refusal = refusedByQuota(status.attempts)
  return refusal !== undefined && status.budget?.unstarted === 1 && lookup.lackAfter(refusal) === undefined
}

/** Reasons that do not go away by themselves. */
const NEEDS_SOMEBODY: ReadonlySet<Reason> = new Set<Reason>(['NameConflict', 'LeftoverClaim'])

/** The messages have no numbers because they stay for minutes. The queue position and its time have their own fields. */
function waiting({ limit }: ImageWorld): ImageStanding {
  const phase = 'Queued'
  if (limit !== 0) return { phase, reason: 'Queued', message: 'Request is waiting for an available worker.' }
  const message = 'the policy key concurrency is 0, so no download starts: set it to 1 or more'
  return { phase, reason: 'Paused', message }
}

/** Takes a new ticket, or keeps the one that the image already waits with. */
function queue({ world, now, status }: ImageDraft): VMDiskImageStatus {
  const { phase = 'Queued' } = world.image.status
  if (status.ticket !== undefined && phase === 'Queued') return { ...status, nextRetryTime: undefined }
  return {
    ...status,
    ticket: world.image.metadata.resourceVersion,
    queuedAt: toTime(now),
    attempt: undefined,
    dataVolumeUID: undefined,
    startedAt: undefined,
    importerPodUID: undefined,
    nextRetryTime: undefined,
  }
}

/** Reports that no attempt is left, or that none would help. Uses the current policy: one that allows more attempts revives the image. */
function failedForGood(draft: ImageDraft): ImageStanding | undefined {
  const { world, target, status } = draft
  const rejection = rejectionOf(draft)
  if (rejection !== undefined) return { phase: 'Failed', reason: 'RejectedByCDI', message: rejection, stalled: true }
  const last = finalAttempt(status, world.policy)
  if (last === undefined) return undefined
  const [reason, why, more] = isPermanent(last.reason)
    ? ([last.reason, 'a retry cannot fix this', ''] as const)
    : (['RetryLimitExceeded', 'no retry is left', '; a higher policy key retryLimit allows more attempts'] as const)
  const { downloads = 0 } = status.budget ?? {}
  const used = `${downloads} download${downloads === 1 ? '' : 's'} used`
  const message = `${last.message} (${why}, ${used}); ${remedyFor(target)}${more}`
  return { phase: 'Failed', reason, message, stalled: true }
}

/** What revives an image that has failed. */
function remedyFor({ defaults }: Target): string {
  const again = `correct the spec of the VMDiskImage, or fix the cause and set annotation ${ANNOTATIONS.retryRequestedAt} to a new value`
  const fields = Object.keys(defaults).join(', ')
  if (fields === '') return again
  return `${again} (${fields}: from the policy when the image was queued; annotation ${ANNOTATIONS.syncRequestedAt} takes the current values)`
}

/** Returns why CDI rejected the DataVolume itself. A rejection holds until the spec changes or somebody requests a retry. */
function rejectionOf({ world, target, status }: ImageDraft): string | undefined {
  const refusal = refusalFor(world, target)
  if (refusal !== undefined) return refusal.until === undefined ? `${refusal.message}; ${remedyFor(target)}` : undefined
  const before = world.image.status
  const isOfBudget = before.revision === status.revision && before.budget?.key === status.budget?.key
  const wasRejected = before.phase === 'Failed' && reasonOf(before) === 'RejectedByCDI'
  return wasRejected && isOfBudget ? (before.message ?? '') : undefined
}

function refusalFor({ refusal }: ImageWorld, { revision, budgetKey }: Target): Refusal | undefined {
  return refusal?.revision === revision && refusal.budgetKey === budgetKey ? refusal : undefined
}

/** Returns the refusal because of which the DataVolume must not be requested now. */
function refusalInForce({ world, target, now }: ImageDraft): Refusal | undefined {
  const refusal = refusalFor(world, target)
  return refusal !== undefined && (refusal.until ?? Number.POSITIVE_INFINITY) > now ? refusal : undefined
}

/** Reports whether the status records what would be downloaded, policy defaults included: the next leader must reach the same target. */
function isWritten({ revision, defaults }: Target, status: VMDiskImageStatus): boolean {
  const { defaults: written = {} } = status
  const fields = Object.keys({ ...written, ...defaults }) as (keyof typeof defaults)[]
  return status.revision === revision && fields.every((field) => written[field] === defaults[field])
}

function startOf({ world, target, status }: ImageDraft): Start {
  const { image } = world
  const { ticket = '' } = status
  const { uid = '', namespace = '', name, generation, finalizers } = image.metadata
  const isSeen = image.status.ticket === ticket && finalizers?.includes(FINALIZERS.vmDiskImage) === true
  return {
    key: keyOf(image.metadata),
    uid,
    namespace,
    name,
    generation,
    ticket,
    revision: target.revision,
    attempt: nextAttempt(status),
    admissible: isSeen && isWritten(target, image.status) && areContentsKnown(target, world),
    target,
  }
}
