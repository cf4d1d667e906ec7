import {
  ANNOTATIONS,
  type Artifact,
  type ImageRef,
  LABELS,
  renderDataSource,
  renderVolumeSnapshot,
  type VMDiskImageStatus,
} from '@open-terrain/constructs'
import { isFinished } from '../../../cluster/import-facts.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import { type ClaimView, type DataVolumeView, hasLostVolume, type SnapshotView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { fromTime, toTime, withoutUndefined } from '../../../runtime/conditions.ts'
import { ownsEqual } from '../../../runtime/owned-fields.ts'
import { type Removal, removalOf } from '../../../runtime/plan.ts'
import { redactUrls } from '../../../runtime/redact.ts'
import type { Wake } from '../../../runtime/wake.ts'
import type { ImageWorld } from '../world.ts'
import { whatBlocksSnapshot } from './checks.ts'
import { type ImageDraft, type ImagePlan, planAt, uncloned } from './image-plan.ts'
import { CLONED_LOOK_MS } from './plan-deletion.ts'
import { type ImageStanding, OUT_OF_QUEUE, withImageStanding } from './status.ts'
import { originOf } from './target.ts'

/** How long the previous artifact stays after the alias points to the new one: clones that just began still read it. */
const RETIRE_AFTER_MS = 10 * 60_000
/** A create whose response was lost may take effect this late. Until then its name must stay taken, or it would download again. */
const NAME_KEPT_MS = 20_000

/** One message for all steps from the download to the artifact: a message per step would cost writes that help nobody. */
const TAKING = 'the download is complete; the artifact is being made'

/** Drops an artifact that is gone, or is about to be overwritten by a download that nobody requested. */
export function dropLostArtifact(
  status: VMDiskImageStatus,
  { snapshots, claims, dataVolumes }: ImageWorld,
): VMDiskImageStatus {
  const { artifact } = status
  if (artifact === undefined) return status
  const isIt = ({ metadata }: KubeObject) => metadata.name === artifact.name
  const candidates: readonly KubeObject[] =
    artifact.kind === 'VolumeSnapshot' ? snapshots : claims.filter((claim) => !hasLostVolume(claim))
  const isThere = candidates.some((one) => isIt(one) && !isTerminating(one))
  const isOverwritten =
    artifact.kind === 'PersistentVolumeClaim' && dataVolumes.some((one) => isIt(one) && !isFinished(one))
  if (isThere && !isOverwritten) return status
  const cause = `its artifact, ${artifact.kind} ${artifact.name}, is lost`
  return { ...status, artifact: undefined, cause: artifact.revision === status.revision ? cause : status.cause }
}

/** Plans from the finished download, if it still exists, to a published artifact: snapshot, ready, alias. Undefined: nothing to publish. */
export function planPublication(draft: ImageDraft): ImagePlan | undefined {
  if (draft.expiry.isReached || hasWantedArtifact(draft)) return undefined
  const { dataVolume, target } = draft
  if (target.snapshotClass !== undefined) return planSnapshot(draft)
  if (dataVolume === undefined) return undefined
  const claim = claimOf(draft)
  if (claim !== undefined && hasLostVolume(claim)) return withoutVolume(draft, claim)
  if (claim === undefined || !isBound(claim)) return atWork(draft, TAKING)
  return publish(draft, { kind: 'PersistentVolumeClaim', name: target.volumeName, restoreSize: claim.capacity })
}

function hasWantedArtifact({ status: { artifact }, target }: ImageDraft): boolean {
  if (artifact?.revision !== target.revision) return false
  if (target.snapshotClass === undefined) return artifact.publishedAt !== undefined
  return artifact.kind === 'VolumeSnapshot' && artifact.snapshotClass === target.snapshotClass
}

function planSnapshot(draft: ImageDraft): ImagePlan | undefined {
  const { world, target, dataVolume } = draft
  const snapshot = world.snapshots.find(({ metadata }) => metadata.name === target.snapshotName)
  if (snapshot === undefined) return dataVolume === undefined ? undefined : takeSnapshot(draft, dataVolume)
  if (isTerminating(snapshot)) {
    const message = `waiting until VolumeSnapshot ${target.snapshotName} is gone; if this lasts, check its finalizers, and that the snapshot controller runs`
    return atWork(draft, message)
  }
  if (snapshot.snapshotClass !== target.snapshotClass)
    return atWork(draft, 'taking the snapshot again, with another class', { remove: removalOf(snapshot) })
  if (!snapshot.readyToUse) return waitForSnapshot(draft, snapshot)
  const { restoreSize, snapshotClass } = snapshot
  return publish(draft, { kind: 'VolumeSnapshot', name: target.snapshotName, snapshotClass, restoreSize })
}

function takeSnapshot(draft: ImageDraft, dataVolume: DataVolumeView): ImagePlan {
  const { world, target } = draft
  const blocked = whatBlocksSnapshot(target, world)
  if (blocked !== undefined)
    return underWay(draft, { ...blocked, stalled: blocked.reason === 'NameConflict', isHeldBack: true })
  const claim = claimOf(draft)
  const isReady = claim === undefined ? dataVolume.bound.status === 'True' : isBound(claim)
  if (!isReady) return atWork(draft, TAKING)
  const snapshot = renderVolumeSnapshot({
    image: identityOf(draft),
    name: target.snapshotName,
    revision: target.revision,
    claimName: target.volumeName,
    snapshotClass: target.snapshotClass ?? '',
  })
  const work = { apply: [snapshot as KubeObject] }
  const { writeRefusal: answer } = world
  if (answer === undefined) return atWork(draft, TAKING, work)
  const message = `the download is complete, and the API server refuses VolumeSnapshot ${target.snapshotName}: ${answer}; it is tried again by itself`
  return underWay(draft, { reason: 'Refused', message }, work)
}

/** Takes a snapshot again if it is not ready in time; the downloaded volume stays. Errors are transient, so only the timeout counts. */
function waitForSnapshot(draft: ImageDraft, snapshot: SnapshotView): ImagePlan {
  const { world, now, status } = draft
  const since = fromTime(snapshot.metadata.creationTimestamp) ?? fromTime(status.snapshotStartedAt) ?? now
  const leftMs = since + world.policy.snapshotTimeoutMs - now
  const trouble = snapshot.error === undefined ? '' : `; its controller reports: ${redactUrls(snapshot.error)}`
  if (leftMs > 0) {
    const wake = { afterMs: leftMs, because: 'the snapshot should be ready by then' }
    return atWork(draft, `${TAKING}${trouble}`, { wake })
  }
  const message = `VolumeSnapshot ${snapshot.metadata.name} was not ready within the policy key snapshotTimeout${trouble}; it is taken again`
  const events = [{ type: 'Warning', reason: 'SnapshotFailed', message } as const]
  return atWork(draft, `taking the snapshot again${trouble}`, { remove: removalOf(snapshot), events })
}

function atWork(draft: ImageDraft, message: string, rest?: Partial<ImagePlan>): ImagePlan {
  return underWay(draft, { reason: 'Snapshotting', message }, rest)
}

function underWay(draft: ImageDraft, where: Omit<ImageStanding, 'phase'>, rest?: Partial<ImagePlan>): ImagePlan {
  const { now, status } = draft
  const next = { ...status, ...OUT_OF_QUEUE, snapshotStartedAt: status.snapshotStartedAt ?? toTime(now) }
  return planAt(draft, next, { phase: 'Snapshotting', upToDate: false, ...where }, rest)
}

/** Only people can bring it back, or give it up: its storage may still have the data. */
function withoutVolume(draft: ImageDraft, { metadata: { name } }: ClaimView): ImagePlan {
  const message = `PersistentVolumeClaim ${name} has lost its volume (it is Lost): bring the PersistentVolume back, or delete the claim, and the image is downloaded again`
  return underWay(draft, { reason: 'Snapshotting', message, stalled: true })
}

function isBound(claim: ClaimView): boolean {
  return claim.phase === 'Bound' && !isTerminating(claim)
}

function claimOf({ world: { claims }, dataVolume, target }: ImageDraft): ClaimView | undefined {
  if (dataVolume === undefined) return undefined
  return claims.find((claim) => claim.metadata.name === target.volumeName && isChildOf(claim, dataVolume))
}

/** A clone needs the volume mode of its source, or it becomes a copy over the network. */
function modesOf(draft: ImageDraft): Pick<Artifact, 'volumeMode' | 'accessModes'> {
  const { status, target } = draft
  const claim = claimOf(draft)
  if (claim !== undefined) return { volumeMode: claim.volumeMode, accessModes: [...claim.accessModes] }
  const before = status.artifact?.revision === target.revision ? status.artifact : undefined
  return { volumeMode: before?.volumeMode, accessModes: before?.accessModes }
}

/** Writes the alias first, then the status that says that the artifact can be used. */
function publish(
  draft: ImageDraft,
  found: Pick<Artifact, 'kind' | 'name' | 'restoreSize' | 'snapshotClass'>,
): ImagePlan {
  const { now, target, status } = draft
  const alias = aliasOf(draft, found)
  if (alias !== undefined)
    return { ...atWork(draft, 'publishing the artifact', { apply: [alias] }), status: statusOnTheWay(draft) }
  const artifact: Artifact = withoutUndefined({
    ...found,
    ...modesOf(draft),
    revision: target.revision,
    storageClass: target.storageClass,
    publishedAt: toTime(now),
  })
  return atRest({ ...draft, status: { ...status, artifact } })
}

/** Nobody needs to know that an alias is about to be written: the current phase is still true. */
function statusOnTheWay(draft: ImageDraft): VMDiskImageStatus {
  const before = draft.world.image.status
  if (before.phase === 'Syncing' || before.phase === 'Snapshotting') return before
  const message = 'publishing the artifact'
  const standing = { phase: 'Snapshotting', reason: 'Snapshotting', message, upToDate: false } as const
  return withImageStanding(draft.status, standing, draft)
}

/** Returns the DataSource named like the image, if it must be written. */
function aliasOf(draft: ImageDraft, { kind, name }: Pick<Artifact, 'kind' | 'name'>): KubeObject | undefined {
  const { world, target } = draft
  if (!world.surroundings.hasDataSources || isAliasTaken(world) || world.namespaceTerminating) return undefined
  const { revision } = target
  const wanted = renderDataSource({ image: identityOf(draft), target: { kind, name }, revision }) as KubeObject
  return world.dataSource !== undefined && ownsEqual(wanted, world.dataSource) ? undefined : wanted
}

function isAliasTaken({ dataSource, image }: ImageWorld): boolean {
  return dataSource !== undefined && !isChildOf(dataSource, image)
}

/** Plans for an image whose artifact of the wanted revision is published: only housekeeping is left. */
export function planSteady(draft: ImageDraft): ImagePlan | undefined {
  const { artifact } = draft.status
  if (artifact?.revision !== draft.target.revision) return undefined
  const leftovers = leftoversOf(draft)
  const alias = aliasOf(draft, artifact)
  const due = alias === undefined ? leftovers.filter(({ leftMs }) => leftMs <= 0) : []
  const remove = due.flatMap(({ child, look }) => removalOf(child, uncloned(child, look)))
  return atRest(draft, { apply: alias === undefined ? [] : [alias], remove, wake: wakeOf(leftovers, remove) })
}

function atRest(draft: ImageDraft, rest?: Partial<ImagePlan>): ImagePlan {
  const rested = { ...draft.status, ...OUT_OF_QUEUE, progress: undefined, snapshotStartedAt: undefined }
  return planAt(draft, rested, restingPlace(draft), rest)
}

function restingPlace({ world, status: { artifact }, target: { snapshotClass } }: ImageDraft): ImageStanding {
  const phase = 'Succeeded'
  if (isAliasTaken(world)) {
    const message = `DataSource ${world.image.metadata.name} exists and belongs to somebody else: the operator does not touch it, so only status.artifact leads to the image; delete it to have it replaced`
    return { phase, reason: 'NameConflict', message, stalled: true, upToDate: true }
  }
  const isOfClass = snapshotClass === undefined || artifact?.snapshotClass === snapshotClass
  if (artifact?.kind === 'VolumeSnapshot' && !isOfClass) {
    const message = `snapshot class ${snapshotClass} (${originOf('snapshotClass', world)}) takes effect at the next download, because the source volume was not kept: set annotation ${ANNOTATIONS.syncRequestedAt} to download now`
    return { phase, reason: 'SourceVolumeLost', message, upToDate: true }
  }
  return { phase, reason: 'Synced', message: `${artifact?.kind} ${artifact?.name} can be cloned` }
}

/** Returns children that are no longer needed, and when each may go. */
function leftoversOf({ world, dataVolume, target, status: { artifact }, now }: ImageDraft) {
  const isSnapshot = artifact?.kind === 'VolumeSnapshot'
  // A snapshot makes its DataVolume redundant. If only its claim were deleted, CDI would download again.
  const isSpare = isSnapshot && !world.policy.keepSourceVolume && !isTerminating(dataVolume)
  const spare = isSpare && dataVolume !== undefined ? [dataVolume] : []
  const nameFreeAt = (fromTime(dataVolume?.metadata.creationTimestamp) ?? now) + NAME_KEPT_MS
  const bySnapshot = { look: 'cached', leftMs: nameFreeAt - now, because: 'the source volume may go then' } as const
  const earlierVolumes = world.dataVolumes.filter(
    (one) => isFinished(one) && one.metadata.labels?.[LABELS.revision] !== target.revision,
  )
  // Also one of the same revision, but of an earlier class.
  const earlierSnapshots = world.snapshots.filter(({ metadata }) => !isSnapshot || metadata.name !== artifact.name)
  const earlier = [...earlierVolumes, ...earlierSnapshots].filter((child) => !isTerminating(child))
  const retiredAt = (fromTime(artifact?.publishedAt) ?? now) + RETIRE_AFTER_MS
  const byArtifact = { look: 'live', leftMs: retiredAt - now, because: 'earlier artifacts may go then' } as const
  return [...spare.map((child) => ({ child, ...bySnapshot })), ...earlier.map((child) => ({ child, ...byArtifact }))]
}

function wakeOf([first]: ReturnType<typeof leftoversOf>, removals: readonly Removal[]): Wake | undefined {
  if (removals.length > 0) return { afterMs: CLONED_LOOK_MS, because: 'what clones held back may go then' }
  return first && { afterMs: Math.max(1_000, first.leftMs), because: first.because }
}

function identityOf({ world, target: { specName } }: ImageDraft): ImageRef {
  const { name, namespace = '', uid = '' } = world.image.metadata
  return { name, namespace, uid, specName }
}
