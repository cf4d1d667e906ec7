import type {
  Artifact,
  Attempt,
  Reason,
  SpecProblem,
  VMDiskImagePhase,
  VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { fromTime } from '../../../base/time.ts'
import { isOrphaning } from '../../../cluster/dependents.ts'
import { attemptOf, downloadsOf, isFinished, NOTHING_SEEN } from '../../../cluster/import-facts.ts'
import { childrenOf, isChildOf } from '../../../cluster/ownership.ts'
import { lackAfter } from '../../../cluster/quotas.ts'
import { type ClaimView, type DataVolumeView, hasLostVolume, type SnapshotView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DATA_VOLUME } from '../../../kube/resource-types.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { unchanged } from '../../../runtime/plan.ts'
import type { Precondition } from '../../../runtime/preconditions.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { type Blocked, type Holder, type ImageWorld, isRecorded, type Refusal } from '../world.ts'
import { adoptedClaim, adoptedSnapshot, disposableOf, type Pending } from './adoption.ts'
import { finalAttempt, nextAttempt } from './attempts.ts'
import { refusedByQuota, whatBlocks, whatBlocksSnapshot } from './checks.ts'
import { draftOf, type ImageDraft } from './draft.ts'
import { isOfOurs } from './expiry.ts'
import { unreferenced } from './image-plan.ts'
import { type Failure, judgeDataVolume, type Verdict } from './judge.ts'
import type { Target } from './target.ts'

interface Described {
  readonly what: string
  /** What its status says. `as before`: the phase that the status already has. */
  readonly phases: readonly (VMDiskImagePhase | 'as before')[]
}

/**
 * All situations of an image. It is in exactly one, the first that applies, and what happens next follows from it alone: {@link situationOf} chooses it,
 * and `plan.ts` has one plan for each. The table in docs/architecture.md is made of this.
 */
export const SITUATIONS = {
  inUse: {
    what: 'it is deleted, but something still uses it: only its downloads end',
    phases: ['as before', 'Queued', 'Succeeded'],
  },
  leaving: {
    what: 'it is deleted: its downloads and children are removed, and its slot is freed',
    phases: ['as before', 'Queued', 'Syncing'],
  },
  gone: { what: 'it is deleted, and nothing is left of it: its finalizer is removed', phases: ['as before'] },
  tooLarge: {
    what: 'only a part of it is known: nothing begins, and a download ends only if it fails or is late',
    phases: ['Failed'],
  },
  invalid: { what: 'its spec would be refused today: its downloads end', phases: ['Failed'] },
  stopping: {
    what: 'it has a slot, and its download ends: the slot is freed when nothing of it is left',
    phases: ['Syncing'],
  },
  clearing: { what: 'it has no slot, and a download ends', phases: ['as before', 'Queued'] },
  unreported: {
    what: 'its DataVolume is there, and too new to report, or not known to have its slot',
    phases: ['as before'],
  },
  running: { what: 'its DataVolume downloads, or waits for its importer', phases: ['Syncing'] },
  admitted: { what: 'it has a slot, and its DataVolume is to be created', phases: ['as before', 'Queued'] },
  freeing: {
    what: 'it has a slot, and downloads nothing more: the admission frees it when nothing is left',
    phases: ['as before'],
  },
  binding: { what: 'its download is finished, and the claim is not bound yet', phases: ['Snapshotting'] },
  volumeLost: {
    what: 'its download is finished, but the claim has lost its volume: only people can bring it back',
    phases: ['Snapshotting'],
  },
  snapshotBlocked: {
    what: 'its download is finished, but something that a snapshot needs is missing',
    phases: ['Snapshotting'],
  },
  snapshotting: { what: 'its download is finished, and a snapshot of it is taken', phases: ['Snapshotting'] },
  retaking: {
    what: 'its snapshot is of no use, and is removed before another one is taken',
    phases: ['Snapshotting'],
  },
  publishing: {
    what: 'its artifact is made: the alias is written, then the status',
    phases: ['as before', 'Snapshotting', 'Succeeded'],
  },
  steady: { what: 'its artifact is published: what is no longer needed is removed', phases: ['Succeeded'] },
  adopting: {
    what: 'it is to adopt something in place of a download, which is looked at, or refused',
    phases: ['Queued'],
  },
  suspended: { what: 'people have suspended it', phases: ['Queued'] },
  rejected: { what: 'CDI rejects its DataVolume', phases: ['Failed'] },
  failed: { what: 'no attempt is left, or none would help', phases: ['Failed'] },
  unneeded: { what: 'nothing refers to it any more', phases: ['Queued'] },
  backoff: { what: 'it waits for the time of its next attempt', phases: ['Queued'] },
  blocked: { what: 'something that a download needs is missing', phases: ['Queued'] },
  queued: { what: 'it waits for a slot', phases: ['Queued'] },
} as const satisfies Readonly<Record<Situation['is'], Described>>

/** An image at one moment: one of {@link SITUATIONS}, with what its plan has to know. */
export type Situation = Deleted | Unreadable | Drafted

type Deleted =
  | { readonly is: 'inUse'; readonly users: readonly string[] }
  | { readonly is: 'leaving'; readonly children: readonly KubeObject[] }
  | { readonly is: 'gone' }

/** Decisions need a spec that is whole and valid. */
type Unreadable =
  | { readonly is: 'tooLarge'; readonly problems: readonly SpecProblem[] }
  | { readonly is: 'invalid'; readonly problems: readonly SpecProblem[] }

/** An image with a valid spec that nobody deletes. */
type Drafted = { readonly draft: ImageDraft } & (Downloading | Downloaded | Waiting)

type Downloading =
  | { readonly is: 'stopping'; readonly ending: Ending }
  | { readonly is: 'clearing'; readonly ending: Ending }
  /** `leftMs`: until it is reported in any case. Undefined: until the ledger was read again. */
  | { readonly is: 'unreported'; readonly leftMs: number | undefined }
  | { readonly is: 'running'; readonly dataVolume: DataVolumeView; readonly hasRun: boolean }
  | { readonly is: 'admitted' }
  | { readonly is: 'freeing' }

type Downloaded =
  | { readonly is: 'binding' }
  | { readonly is: 'volumeLost'; readonly claim: ClaimView }
  | { readonly is: 'snapshotBlocked'; readonly blocked: Blocked }
  /** `snapshot`: undefined if it is to be created. */
  | { readonly is: 'snapshotting'; readonly snapshot: SnapshotView | undefined }
  | { readonly is: 'retaking'; readonly snapshot: SnapshotView; readonly why: 'deleted' | 'otherClass' | 'late' }
  | { readonly is: 'publishing'; readonly made: MadeArtifact }
  | { readonly is: 'steady' }

type Waiting =
  | { readonly is: 'adopting'; readonly pending: Pending }
  | { readonly is: 'suspended' }
  /** `refusal`: undefined if only the status tells of it. */
  | { readonly is: 'rejected'; readonly refusal: Refusal | undefined }
  | { readonly is: 'failed'; readonly attempt: Attempt }
  | { readonly is: 'unneeded'; readonly isExpired: boolean }
  | { readonly is: 'backoff'; readonly until: number }
  | { readonly is: 'blocked'; readonly blocked: Blocked }
  | { readonly is: 'queued' }

/** A situation by its name. */
export type In<Is extends Situation['is']> = Extract<Situation, { readonly is: Is }>

/** Returns the situation of an image: each question that follows is asked only if those before it were answered with no. */
export function situationOf(world: ImageWorld, now: number): Situation {
  const { image, spec, slot } = world
  if (isTerminating(image)) return situationOfDeleted(world)
  if (!spec.ok) return { is: image.isCut === true ? 'tooLarge' : 'invalid', problems: spec.problems }
  const draft = draftOf(world, spec, now)
  const { dataVolume } = draft
  const ending = endingOf(draft)
  if (ending !== undefined) return { is: slot === undefined ? 'clearing' : 'stopping', draft, ending }
  if (dataVolume !== undefined && !isFinished(dataVolume)) return situationOfDownload(dataVolume, draft)
  if (slot !== undefined) return { is: isStillToDownload(slot, draft) ? 'admitted' : 'freeing', draft }
  if (isToBeAdopted(draft)) return situationOfAdoption(draft)
  if (isToBePublished(draft)) return situationOfDownloaded(draft)
  if (draft.status.artifact?.revision === draft.target.revision) return { is: 'steady', draft }
  return situationOfWaiting(draft)
}

function situationOfDeleted(world: ImageWorld): Deleted {
  const { image, slot, dataSource, snapshots, dataVolumes } = world
  const users = world.namespaceTerminating ? [] : world.references.users
  if (users.length > 0) return { is: 'inUse', users }
  const alias = childrenOf(image, dataSource === undefined ? [] : [dataSource])
  const owned = [...alias, ...snapshots, ...dataVolumes]
  // With --cascade=orphan all data stays. The garbage collector can have ended that before anybody saw it, and has then left the DataSource without an owner.
  const isOrphaned = isOrphaning(image) || (dataSource !== undefined && alias.length === 0)
  // Last of all: another cache may still show the DataSource with its owner, which is then not deleted, because it has changed.
  const disposable = isOrphaned || owned.length > 0 ? [] : disposableOf(world)
  const children = [...owned, ...disposable]
  return children.length === 0 && slot === undefined ? { is: 'gone' } : { is: 'leaving', children }
}

/** How long an importer may take to start before the status reports that: most need less. */
const STARTING_TOLD_AFTER_MS = 2_000

/** Of an image whose DataVolume is not finished and need not end. */
function situationOfDownload(dataVolume: DataVolumeView, draft: ImageDraft): Situation {
  const { world, status } = draft
  const { observation } = world
  if (!world.isSlotKnown) return { is: 'unreported', draft, leftMs: undefined }
  const isNew = status.dataVolumeUID !== dataVolume.metadata.uid
  // Once started, it stays started: an importer that succeeded no longer counts as a start, and CDI may report its run only later.
  const hasRun = downloadsOf(dataVolume, observation.starts) > 0 || (!isNew && status.startedAt !== undefined)
  const leftMs = STARTING_TOLD_AFTER_MS - observation.seenMs
  if (isNew && !hasRun && leftMs > 0) return { is: 'unreported', draft, leftMs }
  return { is: 'running', draft, dataVolume, hasRun }
}

/** Reports whether the slot is still for what is wanted, and nothing prevents it. Its download may also be over. */
function isStillToDownload(slot: Holder, draft: ImageDraft): boolean {
  const { world, target, status } = draft
  const isWanted =
    draft.dataVolume === undefined &&
    draft.adoption === undefined &&
    !draft.isSuspended &&
    !draft.expiry.isReached &&
    !isUnneeded(draft) &&
    slot.revision === target.revision &&
    slot.attempt === nextAttempt(status) &&
    status.ticket !== undefined
  return isWanted && (whatBlocks(target, world) ?? refusalInForce(draft)) === undefined
}

/** Reports whether something takes the place of a download, and is not the artifact yet. */
function isToBeAdopted(draft: ImageDraft): boolean {
  return draft.adoption !== undefined && !draft.isSuspended && !draft.expiry.isReached && !hasWantedArtifact(draft)
}

function situationOfAdoption(draft: ImageDraft): Situation {
  const { adoption, world, status } = draft
  if (adoption?.state !== 'adopted') return { is: 'adopting', draft, pending: adoption as Pending }
  const snapshot = adoptedSnapshot(world, status)
  if (snapshot === undefined) return situationOfDownloaded(draft)
  const { snapshotClass, restoreSize, metadata } = snapshot
  const made = {
    kind: 'VolumeSnapshot',
    name: metadata.name,
    snapshotClass,
    restoreSize,
    adoptedUID: metadata.uid,
  } as const
  return { is: 'publishing', draft, made }
}

/** Reports whether the wanted artifact is not made yet, and there is something to make it of. */
function isToBePublished(draft: ImageDraft): boolean {
  if (draft.expiry.isReached || hasWantedArtifact(draft)) return false
  return draft.dataVolume !== undefined || snapshotOf(draft) !== undefined
}

function hasWantedArtifact(draft: ImageDraft): boolean {
  const {
    status: { artifact },
    target,
  } = draft
  if (artifact?.revision !== target.revision) return false
  // It is used as it is, of whatever class.
  if (isOfAdoptedSnapshot(draft)) return artifact.publishedAt !== undefined
  if (target.snapshotClass === undefined) return artifact.publishedAt !== undefined
  return artifact.kind === 'VolumeSnapshot' && artifact.snapshotClass === target.snapshotClass
}

/** Reports whether the artifact is a snapshot that the image has adopted. */
export function isOfAdoptedSnapshot({ status }: Pick<ImageDraft, 'status'>): boolean {
  return status.artifact?.kind === 'VolumeSnapshot' && status.artifact.adoptedUID !== undefined
}

/** What an artifact is made of, and how it is found. */
export type MadeArtifact = Pick<Artifact, 'kind' | 'name' | 'restoreSize' | 'snapshotClass' | 'adoptedUID'>

/** Of an image whose download, or the snapshot of it, is to become its artifact. */
function situationOfDownloaded(draft: ImageDraft): Situation {
  const { target, now } = draft
  if (target.snapshotClass === undefined) return situationOfClaim(draft)
  const snapshot = snapshotOf(draft)
  if (snapshot === undefined) return situationOfUnsnapshotted(draft)
  if (isTerminating(snapshot)) return { is: 'retaking', draft, snapshot, why: 'deleted' }
  const { snapshotClass, restoreSize } = snapshot
  if (snapshotClass !== target.snapshotClass) return { is: 'retaking', draft, snapshot, why: 'otherClass' }
  if (snapshot.readyToUse)
    return {
      is: 'publishing',
      draft,
      made: { kind: 'VolumeSnapshot', name: target.snapshotName, snapshotClass, restoreSize },
    }
  // Errors of its controller are transient, so only the time counts.
  const isLate = snapshotDueAt(snapshot, draft) <= now
  return isLate ? { is: 'retaking', draft, snapshot, why: 'late' } : { is: 'snapshotting', draft, snapshot }
}

function situationOfClaim(draft: ImageDraft): Situation {
  const claim = claimOf(draft)
  if (claim !== undefined && hasLostVolume(claim)) return { is: 'volumeLost', draft, claim }
  if (claim === undefined || !isBound(claim)) return { is: 'binding', draft }
  const { name, uid } = claim.metadata
  const adoptedUID = draft.adoption === undefined ? undefined : uid
  const made = { kind: 'PersistentVolumeClaim', name, restoreSize: claim.capacity, adoptedUID } as const
  return { is: 'publishing', draft, made }
}

function situationOfUnsnapshotted(draft: ImageDraft): Situation {
  const blocked = whatBlocksSnapshot(draft.target, draft.world)
  if (blocked !== undefined) return { is: 'snapshotBlocked', draft, blocked }
  const claim = claimOf(draft)
  const isReady = claim === undefined ? draft.dataVolume?.bound.status === 'True' : isBound(claim)
  return isReady ? { is: 'snapshotting', draft, snapshot: undefined } : { is: 'binding', draft }
}

/** When a snapshot that is not ready counts as failed: wall clock, in milliseconds. */
export function snapshotDueAt(snapshot: SnapshotView, { world, now, status }: ImageDraft): number {
  const since = fromTime(snapshot.metadata.creationTimestamp) ?? fromTime(status.snapshotStartedAt) ?? now
  return since + world.policy.snapshotTimeoutMs
}

function snapshotOf({ world, target }: ImageDraft): SnapshotView | undefined {
  if (target.snapshotClass === undefined) return undefined
  return world.snapshots.find(({ metadata }) => metadata.name === target.snapshotName)
}

function isBound(claim: ClaimView): boolean {
  return claim.phase === 'Bound' && !isTerminating(claim)
}

/** The claim of the wanted download, or the one that takes its place. */
export function claimOf(draft: ImageDraft): ClaimView | undefined {
  const {
    world: { claims },
    dataVolume,
    target,
    status,
  } = draft
  if (status.adoption?.revision === target.revision) {
    const adopted = adoptedClaim(draft.world, status)
    if (adopted !== undefined) return adopted
  }
  if (dataVolume === undefined) return undefined
  return claims.find((claim) => claim.metadata.name === target.volumeName && isChildOf(claim, dataVolume))
}

/** Of an image that has no artifact, no slot and nothing in progress. */
function situationOfWaiting(draft: ImageDraft): Situation {
  const { world, now, target, status, expiry } = draft
  if (draft.isSuspended && !expiry.isReached) return { is: 'suspended', draft }
  const refusal = refusalFor(world, target)
  if (isRejected(refusal, draft)) return { is: 'rejected', draft, refusal }
  // By the current policy: one that allows more attempts revives the image.
  const attempt = finalAttempt(status, world.policy)
  if (attempt !== undefined) return { is: 'failed', draft, attempt }
  if (expiry.isReached || isUnneeded(draft)) return { is: 'unneeded', draft, isExpired: expiry.isReached }
  const until = fromTime(status.nextRetryTime)
  if (until !== undefined && until > now && !isRoomBack(draft)) return { is: 'backoff', draft, until }
  const blocked = whatBlocks(target, world) ?? refusalInForce(draft)
  return blocked === undefined ? { is: 'queued', draft } : { is: 'blocked', draft, blocked }
}

/** Reports whether the operator created the image for something, and nothing refers to it any more: nobody needs the download. */
function isUnneeded({ world, status }: ImageDraft): boolean {
  const wasReferenced = status.lastReferencedTime !== undefined || (status.references?.count ?? 0) > 0
  return isOfOurs(world) && world.references.count === 0 && wasReferenced
}

/**
 * Reports whether a quota refused something in the last attempt and has room for it now. Only after its first refusal: images that refuse each other the
 * room by starting at the same time are spread by the wait for a retry.
 */
function isRoomBack({ status, world: { lookup } }: ImageDraft): boolean {
  const refusal = refusedByQuota(status.attempts)
  return refusal !== undefined && status.budget?.unstarted === 1 && lackAfter(lookup.quotas, refusal) === undefined
}

/** Reports whether CDI rejected the DataVolume itself. A rejection holds until the spec changes or somebody requests a retry. */
function isRejected(refusal: Refusal | undefined, { world, status }: ImageDraft): boolean {
  if (refusal !== undefined) return refusal.until === undefined
  const before = world.image.status
  return before.phase === 'Failed' && reasonOf(before) === 'RejectedByCDI' && isOfBudget(before, status)
}

function isOfBudget(before: VMDiskImageStatus, status: VMDiskImageStatus): boolean {
  return before.revision === status.revision && before.budget?.key === status.budget?.key
}

function refusalFor({ refusal }: ImageWorld, { revision, budgetKey }: Target): Refusal | undefined {
  return refusal?.revision === revision && refusal.budgetKey === budgetKey ? refusal : undefined
}

/** Returns the refusal because of which the DataVolume must not be requested now. */
function refusalInForce({ world, target, now }: ImageDraft): Refusal | undefined {
  const refusal = refusalFor(world, target)
  return refusal !== undefined && (refusal.until ?? Number.POSITIVE_INFINITY) > now ? refusal : undefined
}

/** Downloads that end, or whose end is still to be waited for. */
export interface Ending {
  readonly stops: readonly Stop[]
  /** How the download ended that the status is about, if its DataVolume is gone though the operator did not delete it. */
  readonly vanished: End | undefined
}

/** A download that must end: it failed, was cancelled, or was never admitted. */
export interface Stop {
  readonly dataVolume: DataVolumeView
  /** Undefined: it is not an attempt of the operator, or its end is already recorded. */
  readonly end: End | undefined
  readonly notes: readonly EventNote[]
  readonly onlyIf: readonly Precondition[]
}

/** How an attempt ends. */
export type End = Failure | { readonly state: 'cancelled'; readonly reason: Reason; readonly message: string }

function endingOf(draft: ImageDraft): Ending | undefined {
  const stops = draft.world.dataVolumes.flatMap((dataVolume) => stopOf(dataVolume, draft) ?? [])
  const vanished = vanishedOf(draft)
  return stops.length === 0 && vanished === undefined && !isTeardownPending(draft) ? undefined : { stops, vanished }
}

/** Its DataVolume is gone, no matter who deleted it, and the slot is held until a live read confirms that. */
function isTeardownPending({ world, status: { attempts, dataVolumeUID: uid } }: ImageDraft): boolean {
  const record = uid === undefined ? undefined : attempts?.find(({ dataVolumeUID }) => dataVolumeUID === uid)
  const hasNotSucceeded = record !== undefined && record.outcome !== 'Succeeded'
  return world.slot !== undefined && world.dataVolumes.every(isFinished) && hasNotSucceeded
}

/** It may cost as much as a failure: if its importer was not observed, it counts as one download. */
function vanishedOf({ status, world }: ImageDraft): End | undefined {
  const { dataVolumeUID: uid } = status
  const before = world.image.status
  const wasUnderWay = before.phase === 'Syncing' && uid !== undefined && !isRecorded(status)
  if (!wasUnderWay || world.dataVolumes.some(({ metadata }) => metadata.uid === uid)) return undefined
  if (!isOfBudget(before, status)) return { state: 'cancelled', reason: 'DataVolumeDeleted', message: DELETED }
  return deletedBySomebody(world.observation.starts ?? 1)
}

const DELETED = 'its DataVolume was deleted by somebody before it was done'

function deletedBySomebody(downloads: number): Failure {
  return { state: 'failed', reason: 'DataVolumeDeleted', message: DELETED, permanent: false, downloads }
}

function stopOf(dataVolume: DataVolumeView, draft: ImageDraft): Stop | undefined {
  const { world, target, status } = draft
  const { name, uid, deletionTimestamp } = dataVolume.metadata
  const stray: Stop = { dataVolume, end: undefined, notes: [], onlyIf: [] }
  const cancelled = (reason: Reason, message: string): Stop => ({
    ...stray,
    end: { state: 'cancelled', reason, message },
  })
  const failed = (end: Failure): Stop => {
    // According to the caches it has used no download, but an importer may have started since; or its importer has gone, but may have been done, and CDI
    // makes one more for some imports that have succeeded.
    const isDoubtful = end.downloads === 0 || world.observation.isImporterLost
    return { ...stray, end, onlyIf: isDoubtful ? [unchanged(DATA_VOLUME, dataVolume)] : [] }
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
  if (draft.isSuspended) return cancelled('Suspended', 'suspended')
  if (draft.adoption !== undefined)
    return cancelled('SpecChanged', 'an object that is to be adopted takes the place of the download')
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
  return judgeDataVolume(dataVolume, {
    ...policy,
    sourceType,
    errorBefore: before?.message,
    isCdiAway,
    observation,
    ageMs: Math.max(0, now - startedAt),
    quotas: lookup.quotas,
  })
}
