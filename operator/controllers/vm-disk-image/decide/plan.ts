import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  type Artifact,
  childName,
  FINALIZERS,
  type ImageRef,
  memoizedLately,
  problemsText,
  type Reason,
  renderDataSource,
  renderVolumeSnapshot,
  VM_DISK_IMAGE_CONDITIONS,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { firstFew, redactUrls } from '../../../base/messages.ts'
import { fromTime, toTime } from '../../../base/time.ts'
import { CLONE_SOURCES } from '../../../cluster/clone-sources.ts'
import { endingWaits, isOrphaning } from '../../../cluster/dependents.ts'
import { attemptOf, awaitedBy, isBlind, isFinished } from '../../../cluster/import-facts.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import { type DataVolumeView, isAlive, type PodView, type SnapshotView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { DATA_VOLUME } from '../../../kube/resource-types.ts'
import { saying } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { ownsEqual } from '../../../runtime/owned-fields.ts'
import { NOTHING_TO_DO, type Removal, referTo, removalOf } from '../../../runtime/plan.ts'
import type { Absent, NamedObject, Uncloned } from '../../../runtime/preconditions.ts'
import { type Requeue, sooner } from '../../../runtime/requeue.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { type Blocked, type Holder, type ImageWorld, isRecorded, type SlotWait } from '../world.ts'
import { disposableOf, unsharedIf } from './adoption.ts'
import {
  hasSucceeded,
  nextAttempt,
  recordCancel,
  recordFailure,
  recordSuccess,
  recount,
  renewed,
  subjectOf,
} from './attempts.ts'
import { areContentsKnown, contentsToRead, lackAfterRefusal } from './checks.ts'
import type { ImageDraft } from './draft.ts'
import { isPermanent } from './final-errors.ts'
import { type ContentRead, type ImagePlan, type Start, unreferenced } from './image-plan.ts'
import { adoptableTitle } from './judge-adoption.ts'
import {
  claimOf,
  type End,
  type Ending,
  type In,
  isOfAdoptedSnapshot,
  type MadeArtifact,
  type Situation,
  type Stop,
  situationOf,
  snapshotDueAt,
} from './situation.ts'
import { type ImageSummary, imageEventsBetween, OUT_OF_QUEUE, withImageSummary } from './status.ts'
import { PAUSED_WITH_SLOT } from './status-throttle.ts'
import { AT_WORK, originOf, type Target } from './target.ts'

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
  const situation = situationOf(world, now)
  const reads = readsOf(situation)
  const adopts = situation.is === 'adopting' ? situation.pending.adoptable : undefined
  const plan = {
    ...planFor(situation, { world, now }),
    ...(reads.length > 0 && { reads }),
    ...(adopts !== undefined && { adopts }),
  }
  return guarded(withExpiry(plan, situation), { world, now })
}

/** What is known of an image, and when. */
type Moment = Pick<ImageDraft, 'world' | 'now'>

/** What is done in each situation, and the whole status that it has. */
function planFor(situation: Situation, moment: Moment): ImagePlan {
  switch (situation.is) {
    case 'inUse':
      return planInUse(situation, moment)
    case 'leaving':
      return planLeaving(situation, moment)
    case 'gone':
      return planWith(moment.world.image.status, { finalizer: 'release' })
    case 'tooLarge':
      return planTooLarge(situation, moment)
    case 'invalid':
      return planInvalid(situation, moment)
    case 'stopping':
      return planEnding(situation, stopping)
    case 'clearing':
      return planEnding(situation, standingStill)
    case 'unreported':
      return planUnreported(situation)
    case 'running':
      return planRunning(situation)
    case 'admitted':
      return planAdmitted(situation)
    case 'freeing':
      return planWith(moment.world.image.status, {})
    case 'binding':
      return underWay(situation, { message: TAKING })
    case 'volumeLost':
      return planVolumeLost(situation)
    case 'snapshotBlocked':
      return planSnapshotBlocked(situation)
    case 'snapshotting':
      return situation.snapshot === undefined ? takeSnapshot(situation) : waitForSnapshot(situation, situation.snapshot)
    case 'retaking':
      return planRetaking(situation)
    case 'publishing':
      return planPublishing(situation)
    case 'steady':
      return planSteady(situation)
    case 'adopting':
      return planAdopting(situation)
    case 'suspended':
      return planSuspended(situation)
    case 'rejected':
      return planRejected(situation)
    case 'failed':
      return planFailed(situation)
    case 'unneeded':
      return planUnneeded(situation)
    case 'backoff':
      return planBackoff(situation)
    case 'blocked':
      return planBlocked(situation)
    case 'queued':
      return planQueued(situation)
  }
}

type PlanRest = Partial<Omit<ImagePlan, 'status'>>

function planWith(status: VMDiskImageStatus, rest: PlanRest): ImagePlan {
  return { ...NOTHING_TO_DO, ...rest, status }
}

/** Returns a plan with this summary. From here on the image may have children: the finalizer keeps it until they are gone. */
function planAt(draft: ImageDraft, status: VMDiskImageStatus, summary: ImageSummary, rest: PlanRest = {}): ImagePlan {
  const hasFinalizer = draft.world.image.metadata.finalizers?.includes(FINALIZERS.vmDiskImage)
  return planWith(withImageSummary(status, summary, draft), { finalizer: hasFinalizer ? 'keep' : 'add', ...rest })
}

// What every plan has besides.

/** Only an image that is about to download needs to know what is in the objects that it names: most have their artifact. */
function readsOf(situation: Situation): readonly ContentRead[] {
  switch (situation.is) {
    case 'blocked':
      return contentsToRead(situation.draft, situation.blocked)
    case 'admitted':
    case 'queued':
      return contentsToRead(situation.draft)
    default:
      return []
  }
}

/** Adds what no cache may decide, the end of waits for dependents, and what to tell people of the change of the status. */
function guarded(plan: ImagePlan, { world, now }: Moment): ImagePlan {
  const onlyIf = [...lostChildren(world, plan.status), ...(plan.onlyIf ?? [])]
  return {
    ...plan,
    ...(onlyIf.length > 0 && { onlyIf }),
    // Finished ones only: for those that still download, the admission decides by a live read.
    ...endingWaits(plan, world.dataVolumes.filter(isFinished), now),
    events: [...plan.events, ...imageEventsBetween(world.image, plan.status, world.policy.retryLimit)],
  }
}

/** Returns what the next status gives up because the caches do not have it. It may still exist, so a live read must confirm it. */
function lostChildren(world: ImageWorld, next: VMDiskImageStatus): Absent[] {
  const { image, dataVolumes, snapshots, claims } = world
  const { artifact, dataVolumeUID: uid, revision = '' } = image.status
  const { namespace = '' } = image.metadata
  const lacks = (children: readonly KubeObject[], name: string) => !children.some((one) => one.metadata.name === name)
  const lost: NamedObject[] = []
  if (artifact !== undefined && next.artifact === undefined) {
    const { kind, name } = artifact
    if (artifact.adoptedUID === undefined && lacks(kind === 'VolumeSnapshot' ? snapshots : claims, name))
      lost.push({ type: CLONE_SOURCES[kind], namespace, name })
  }
  const isGivenUp = uid !== undefined && !isRecorded(image.status) && isRecorded(next, uid)
  if (isGivenUp && !dataVolumes.some(({ metadata }) => metadata.uid === uid))
    lost.push({ type: DATA_VOLUME, namespace, name: childName(image.metadata.name, revision), uid })
  const absent = lost.map((one): Absent => ({ absent: [one], whose: 'ours' }))
  return [...absent, ...lostAdoption(world, next)]
}

/** An adopted artifact is nobody's child: its uid tells whether it is the one. */
function lostAdoption({ image, adoptedArtifact }: ImageWorld, next: VMDiskImageStatus): Absent[] {
  const { artifact } = image.status
  if (artifact?.adoptedUID === undefined || next.artifact !== undefined || adoptedArtifact !== undefined) return []
  const { kind, name, adoptedUID: uid } = artifact
  const { namespace = '' } = image.metadata
  return [{ absent: [{ type: CLONE_SOURCES[kind], namespace, name, uid }], whose: "anybody's" }]
}

const REMOVED: EventNote = {
  type: 'Normal',
  reason: 'Unreferenced',
  message: 'nothing has referred to the image for its unreferencedTTL: it is deleted',
}

/** Adds when the image expires, or what happens to an expired one: no download starts, and once none is left the image is deleted. */
function withExpiry(plan: ImagePlan, situation: Situation): ImagePlan {
  if (!('draft' in situation)) return plan
  const { world, expiry } = situation.draft
  if (!expiry.isReached)
    return expiry.requeue === undefined ? plan : { ...plan, requeue: sooner(plan.requeue, expiry.requeue) }
  const isQuiet = world.slot === undefined && world.dataVolumes.every(isFinished)
  if (!isQuiet) return plan
  const { start: _none, ...rest } = plan
  const again = { afterMs: CLONED_LOOK_MS, because: 'clones of it may be finished by then' }
  // An unfinished clone still needs the child that it reads from.
  const children = [...world.snapshots, ...world.dataVolumes, ...disposableOf(world)]
  const free = children.flatMap((child) => [uncloned(child, 'live'), ...unsharedIf(world, child)])
  const [itself] = removalOf(world.image, unreferenced(world, 'anyone'), ...free)
  const remove = [...plan.remove, ...(itself === undefined ? [] : [{ ...itself, event: REMOVED }])]
  return { ...rest, remove, requeue: sooner(plan.requeue, again) }
}

/** The end of a running clone causes its own watch event. This is for the helper volumes, which nobody watches. */
const CLONED_LOOK_MS = 60_000

/** Requires that no unfinished clone reads from the object. */
function uncloned({ kind, metadata: { namespace = '', name } }: KubeObject, read: Uncloned['read']): Uncloned {
  return { uncloned: { kind, namespace, name }, read }
}

// Somebody deleted the image. Downloads end at once. The artifact stays as long as somebody uses it, unless the whole namespace is deleted.

const DELETION_LOOK_MS = 60_000
/** There may be thousands of users. */
const NAMED = 10

function planInUse({ users }: In<'inUse'>, { world, now }: Moment): ImagePlan {
  const { image } = world
  const isOf = (user: string) => user.startsWith('DataSync/')
  const remedies = [
    ...(users.some(isOf) ? ['remove the vm from these DataSyncs'] : []),
    ...(users.every(isOf) ? [] : [users.some(isOf) ? 'delete the other objects' : 'delete these objects']),
  ]
  const message = `deletion is blocked: the image is used by ${firstFew(users, NAMED)}; to complete the deletion, ${remedies.join(', and ')}`
  const { phase: before = 'Queued', artifact } = image.status
  const resting = artifact === undefined ? 'Queued' : 'Succeeded'
  const phase = world.slot === undefined && before === 'Syncing' ? resting : before
  const reason = 'InUse'
  const status = withImageSummary(
    { ...withImporter(image.status, world), ticket: undefined, ...OUT_OF_QUEUE },
    { phase, reason, message, stalled: phase === 'Failed' },
    { world, now, blocked: saying(true, { reason, message }) },
  )
  return planWith(status, {
    remove: world.dataVolumes.flatMap((one) => (isFinished(one) ? [] : removalOf(one))),
    requeue: { afterMs: DELETION_LOOK_MS, because: 'its users may be gone by then' },
  })
}

/**
 * With `--cascade=orphan` the children stay: until the garbage collector has removed their owner reference, only downloads are removed.
 */
function planLeaving({ children }: In<'leaving'>, { world, now }: Moment): ImagePlan {
  const { image, slot, namespaceTerminating } = world
  const due = isOrphaning(image) ? world.dataVolumes.filter((one) => !isFinished(one)) : children
  const { phase = 'Queued', conditions = [] } = image.status
  const names = children.map((child) => {
    const orphaned = due.some((one) => one === child) ? '' : ', which stays without an owner (--cascade=orphan)'
    const adopted =
      unsharedIf(world, child).length > 0 ? ', which it has adopted, until nothing else owns or uses it' : ''
    return `${child.kind} ${child.metadata.name}${orphaned}${adopted}`
  })
  const waitsFor = names.length > 0 ? names.join(', ') : whatDownloads(world)
  const oldest = Math.min(...children.map(({ metadata }) => fromTime(metadata.deletionTimestamp) ?? now))
  const late =
    now - oldest >= DELETION_LOOK_MS
      ? '; check which finalizers are left, and that CDI with its webhook (cdi-apiserver) and the snapshot controller run'
      : ''
  const message = `being deleted: waiting for ${waitsFor}${late}`
  const free: VMDiskImageStatus = {
    ...withImporter(image.status, world),
    ticket: undefined,
    ...OUT_OF_QUEUE,
    nextRetryTime: undefined,
    conditions: conditions.filter(({ type }) => type !== VM_DISK_IMAGE_CONDITIONS.DeletionBlocked),
  }
  const resting = phase === 'Syncing' ? 'Queued' : phase
  const shown = slot === undefined ? resting : 'Syncing'
  const summary = { phase: shown, reason: 'Deleting', message, upToDate: false } as const
  const remove = due.flatMap((one) => [...needlessOf(one, world), ...removalOf(one, ...unsharedIf(world, one))])
  return planWith(withImageSummary(free, summary, { world, now }), {
    remove,
    ...(remove.length > 0 && !namespaceTerminating && { onlyIf: [unreferenced(world, 'users')] }),
    requeue: { afterMs: DELETION_LOOK_MS, because: 'its children should be gone by then' },
  })
}

const WAITED_FOR = {
  claim: 'its claim, which CDI may still fill',
  doubtful: 'a pod or claim that may be of its download',
} as const satisfies Readonly<Record<Exclude<SlotWait, 'orphaned'>, string>>

/** Names what the slot is held for when no child is left. */
function whatDownloads({ slot, lookup, slotWaitsFor, observation }: ImageWorld): string {
  const orphan = slot && lookup.foreignSlotVolume
  if (orphan !== undefined) return `${orphan}, ${WHY_ORPHANED}`
  if (slotWaitsFor === 'orphaned') return `its importer pod, ${whyOrphaned(slot)}`
  return slotWaitsFor === undefined ? importerOf(observation) : WAITED_FOR[slotWaitsFor]
}

const WHY_ORPHANED =
  'which has lost its owner and may still download: it keeps the slot until it has Succeeded, or has taken as long as an attempt may; delete it to free the slot now'

function importerOf({ importers }: ImageWorld['observation']): string {
  const pod = importers.find(isAlive)
  return pod === undefined ? 'its importer pod' : `its importer pod ${pod.metadata.name}`
}

/** Says what ends an importer whose DataVolume somebody deleted with `--cascade=orphan`. */
function whyOrphaned(slot: Holder | undefined): string {
  const claim = slot === undefined ? 'its claim' : `PersistentVolumeClaim ${childName(slot.name, slot.revision)}`
  return `which CDI runs although its DataVolume is gone, because ${claim} is still there: the operator deletes that claim if it is not filled within the time that an attempt has (policy key attemptTimeout); delete it to free the slot now`
}

// Its spec cannot be acted upon. It wants no slot and affects no other image.

function planInvalid({ problems }: In<'invalid'>, moment: Moment): ImagePlan {
  const { world } = moment
  const { status } = world.image
  const free = {
    ...withImporter(status, world),
    ...OUT_OF_QUEUE,
    ticket: undefined,
    progress: undefined,
    nextRetryTime: undefined,
  }
  const running = world.dataVolumes.filter((one) => !isFinished(one))
  const stopped = withCancels(free, running, 'the spec is no longer valid', moment)
  const message = problemsText(problems)
  const summary = { phase: 'Failed', reason: 'InvalidSpec', message, stalled: true, upToDate: false } as const
  return planWith(withImageSummary(stopped, summary, moment), { remove: running.flatMap((one) => removalOf(one)) })
}

/**
 * The artifact stays, and so does a download that runs, with its slot: what it is for may still be what the spec says. But a slot is not held by one that
 * fails, or takes longer than an attempt may.
 */
function planTooLarge({ problems }: In<'tooLarge'>, moment: Moment): ImagePlan {
  const { world, now } = moment
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
  const stopped = withCancels(kept, late, why, moment)
  const message = problemsText(problems)
  const summary = { phase: 'Failed', reason: 'TooLarge', message, stalled: true, upToDate: false } as const
  const left = Math.min(...running.filter((one) => !late.includes(one)).map((one) => endOf(one) - now))
  return planWith(withImageSummary(stopped, summary, moment), {
    remove: late.flatMap((one) => removalOf(one)),
    ...(Number.isFinite(left) && {
      requeue: { afterMs: left, because: 'its download has run as long as an attempt may' },
    }),
  })
}

/** Records the stops before the teardown: the DataVolumes may still be terminating when the spec becomes valid again. */
function withCancels(
  status: VMDiskImageStatus,
  dataVolumes: readonly DataVolumeView[],
  message: string,
  moment: Moment,
): VMDiskImageStatus {
  const end = { state: 'cancelled', reason: 'SpecChanged', message } as const
  const unrecorded = dataVolumes.filter(({ metadata }) => !isRecorded(status, metadata.uid))
  return unrecorded.reduce((recorded, dataVolume) => withEnd(recorded, { dataVolume, end }, moment), status)
}

// A download ends. Without a slot there is nothing to wait for: the image keeps its summary meanwhile.

const STOPPING_LOOK_MS = 60_000

type HowItEnds = (status: VMDiskImageStatus, stops: readonly Stop[], draft: ImageDraft) => ImageSummary

function planEnding({ draft, ending }: In<'stopping' | 'clearing'>, summaryOf: HowItEnds): ImagePlan {
  const { world } = draft
  const { stops } = ending
  const ended = withEnds(ending, draft)
  const isOfStatus = world.observation.dataVolumeUid === ended.dataVolumeUID && isRecorded(ended)
  const recorded = isOfStatus ? withImporter(ended, world) : ended
  const onlyIf = stops.flatMap((stop) => stop.onlyIf)
  const summary = summaryOf(recorded, stops, draft)
  return planWith(withImageSummary({ ...recorded, progress: undefined }, summary, draft), {
    remove: stops.flatMap(({ dataVolume }) => removalsOf(dataVolume, world)),
    events: stops.flatMap(({ notes }) => notes),
    requeue: { afterMs: STOPPING_LOOK_MS, because: 'a download should have stopped by then' },
    ...(onlyIf.length > 0 && { onlyIf }),
  })
}

function withEnds({ stops, vanished }: Ending, draft: ImageDraft): VMDiskImageStatus {
  const { world } = draft
  const begun = vanished === undefined ? draft.status : withVanished(draft, vanished)
  return stops.reduce((status, stop) => withEnd(status, stop, draft), recount(begun, world))
}

function withEnd(
  status: VMDiskImageStatus,
  { dataVolume, end }: Pick<Stop, 'dataVolume' | 'end'>,
  moment: Moment,
): VMDiskImageStatus {
  return end === undefined ? status : recordEnd(status, subjectOf(dataVolume, moment.world.image.status), end, moment)
}

/** Of the download that the status is about. */
function withVanished({ status, world, now }: ImageDraft, end: End): VMDiskImageStatus {
  const { dataVolumeUID: uid = '', attempt: number = 1, startedAt } = status
  const { revision = '', requestedBy } = world.image.status
  const subject = { uid, number, revision, createdAt: startedAt, restarts: 0, requestedBy }
  return recordEnd(status, subject, end, { world, now })
}

function recordEnd(
  status: VMDiskImageStatus,
  subject: ReturnType<typeof subjectOf>,
  end: End,
  { world, now }: Moment,
): VMDiskImageStatus {
  if (end.state === 'failed') return recordFailure(status, subject, end, world, now)
  const recorded = recordCancel(status, subject, end.reason, end.message, now)
  return end.reason === 'Suspended' ? renewed(recorded) : recorded
}

/**
 * Deletes a DataVolume, and after it the importers that run: CDI would end them too, but later, and the kubelet restarts a failed importer at once.
 * Not before it: CDI would replace them.
 */
function removalsOf(dataVolume: DataVolumeView, world: ImageWorld): Removal[] {
  const removals = removalOf(dataVolume)
  if (removals.length === 0 || world.observation.dataVolumeUid !== dataVolume.metadata.uid) return removals
  return [...removals, ...runningImporters(world).map(referTo)]
}

/** Importers that nobody needs go before their DataVolume: without it, nothing shows whose they are, and a new leader would leave them for ever. */
function needlessOf({ metadata: { uid = '' } }: KubeObject, { needless }: ImageWorld): Removal[] {
  return (needless.get(uid) ?? []).map(referTo)
}

/** Returns the importers that run and are not being deleted. */
function runningImporters({ observation }: ImageWorld): PodView[] {
  return observation.importers.filter((pod) => isAlive(pod) && !isTerminating(pod))
}

/** Names the importer before its DataVolume is deleted: another process, which has seen neither, finds it by nothing else. */
function withImporter(status: VMDiskImageStatus, world: ImageWorld): VMDiskImageStatus {
  const [pod] = runningImporters(world)
  return pod === undefined ? status : { ...status, importerPodUID: pod.metadata.uid }
}

const standingStill: HowItEnds = (status, stops, { world, now }) => {
  const { phase = 'Queued', message = '' } = world.image.status
  const reason = reasonOf(world.image.status) as Reason | undefined
  if (phase === 'Succeeded' && status.artifact !== undefined && status.artifact.revision === status.revision)
    return { phase, reason: reason ?? 'Synced', message, stalled: reason === 'NameConflict' }
  // What failed for good is not revived by the removal of something else.
  if (phase === 'Failed') return { phase, reason: reason ?? 'RetryLimitExceeded', message, stalled: true }
  const left = stops.find(({ dataVolume }) => isOverdue(dataVolume, now))?.dataVolume
  const until =
    left === undefined ? '' : `; the next one starts when DataVolume ${left.metadata.name} is gone${keptBy(left)}`
  return { phase: 'Queued', reason: 'Stopping', message: `the operator stops a download of this image${until}` }
}

/** What else than an importer keeps a slot, as people read it. */
const WAITS = {
  claim: 'its claim is gone, which CDI may still fill: delete it, or look whether CDI runs',
  doubtful: 'a pod or claim that may be of this download is gone, for two minutes at most',
} as const satisfies Readonly<Record<Exclude<SlotWait, 'orphaned'>, string>>

function whatIsAwaited({ slot, lookup, slotWaitsFor, observation }: ImageWorld): string {
  const orphan = slot && lookup.foreignSlotVolume
  if (orphan !== undefined) return `for the end of ${orphan}, ${WHY_ORPHANED}`
  if (slotWaitsFor === 'orphaned') return `for the end of its importer pod, ${whyOrphaned(slot)}`
  return slotWaitsFor === undefined ? `until ${importerOf(observation)} is gone` : `until ${WAITS[slotWaitsFor]}`
}

/** Says how to end an importer that does not end, as on a node that is lost: nobody else ends that. */
function overdueIn({ observation: { importers } }: ImageWorld, now: number): string {
  const pod = importers.find((one) => isAlive(one) && isOverdue(one, now))
  if (pod === undefined) return ''
  const { namespace, name } = pod.metadata
  return `; it should have ended by now: look at its node, and if that is lost for good: kubectl -n ${namespace} delete pod ${name} --force`
}

const stopping: HowItEnds = ({ attempts, nextRetryTime }, stops, { world, now }) => {
  const last = attempts?.at(-1)
  const why = last === undefined ? 'the download is being stopped' : `attempt ${last.number}: ${last.message}`
  const next = nextRetryTime === undefined ? '' : `; next attempt at ${nextRetryTime}`
  const first = stops[0]?.dataVolume
  const late = isOverdue(first, now)
    ? `; its DataVolume should be gone by now: check that CDI and its webhook (cdi-apiserver) run${keptBy(first)}`
    : ''
  const message = `${why}; waiting ${whatIsAwaited(world)}${next}${late}${overdueIn(world, now)}`
  return { phase: 'Syncing', reason: 'Stopping', message }
}

/** The deletionTimestamp of a pod includes its grace period. */
function isOverdue(object: KubeObject | undefined, now: number): boolean {
  const since = fromTime(object?.metadata.deletionTimestamp)
  return since !== undefined && now - since >= STOPPING_LOOK_MS
}

/** Names what keeps an object that is being deleted. */
function keptBy(object: DataVolumeView | undefined): string {
  const { finalizers = [] } = object?.metadata ?? {}
  return finalizers.length === 0 ? '' : `; it is kept by ${finalizers.join(', ')}`
}

// It downloads, or is about to.

function planUnreported({ draft, leftMs }: In<'unreported'>): ImagePlan {
  const { status } = draft.world.image
  if (leftMs === undefined) return planWith(status, {})
  return planWith(status, { requeue: { afterMs: leftMs, because: 'its importer should run by then' } })
}

/** From this age on, it is worth a write to name the importer pod: the next leader can tell whether another one replaced it. */
const POD_NOTED_AFTER_MS = 30_000

function planRunning({ draft, dataVolume, hasRun }: In<'running'>): ImagePlan {
  const { world, now, status } = draft
  const { observation } = world
  const { uid } = dataVolume.metadata
  const before: VMDiskImageStatus = status.dataVolumeUID === uid ? status : {}
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
  const summary = running(dataVolume, hasRun, `attempt ${attempt} of ${1 + retryLimit}`, world)
  const toStallMs = isBlind(dataVolume, observation) ? attemptTimeoutMs : stallTimeoutMs - observation.unchangedMs
  const leftMs = Math.min(toStallMs, attemptTimeoutMs - ageMs, 30_000)
  const requeue = { afterMs: Math.max(1_000, leftMs), because: 'a stalled download would be stopped then' }
  return planAt(draft, next, summary, { requeue })
}

function running(dataVolume: DataVolumeView, hasRun: boolean, attempt: string, world: ImageWorld): ImageSummary {
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
  const old = isCdiAway
    ? '; CDI does not act on its DataVolume, so nobody knows how far it is: see whether cdi-deployment runs'
    : ''
  if (hasRun) return { phase, reason: 'Syncing', message: `downloading, ${attempt}${old}${unseen}` }
  return { phase, reason: 'Starting', message: `waiting for ${awaitedBy(dataVolume, observation)}, ${attempt}` }
}

/** The admission creates the DataVolume, and only needs to know what to download. The status stays the same, unless nothing is created. */
function planAdmitted({ draft }: In<'admitted'>): ImagePlan {
  return planWith(whileAdmitted(draft), { start: startOf(draft, draft.status) })
}

/** The messages have no numbers, so each is written once, however long this lasts. */
function whileAdmitted(draft: ImageDraft): VMDiskImageStatus {
  const { limit, isCreateFailing, image } = draft.world
  const status = { ...image.status, ...OUT_OF_QUEUE }
  const phase = 'Queued'
  if (limit === 0) return withImageSummary(status, { phase, reason: 'Paused', message: PAUSED_WITH_SLOT }, draft)
  const message =
    "it has a slot, but its DataVolume is not created yet: see whether CDI's webhook (cdi-apiserver) runs and the API server reaches it; the operator tries again by itself"
  if (isCreateFailing) return withImageSummary(status, { phase, reason: 'CreateFailed', message }, draft)
  return image.status.message === PAUSED_WITH_SLOT
    ? withImageSummary(status, waitingForSlot(draft.world), draft)
    : image.status
}

function startOf({ world, target }: ImageDraft, status: VMDiskImageStatus): Start {
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
    admissible: isSeen && isWritten(target, image.status) && areContentsKnown(world.lookup),
    target,
  }
}

/** Reports whether the status records what would be downloaded, policy defaults included: the next leader must reach the same target. */
function isWritten({ revision, defaults }: Target, status: VMDiskImageStatus): boolean {
  const { defaults: written = {} } = status
  const fields = Object.keys({ ...written, ...defaults }) as (keyof typeof defaults)[]
  return status.revision === revision && fields.every((field) => written[field] === defaults[field])
}

// Its download is finished, and becomes the artifact: a claim, or a snapshot of it. Then the alias is written, then the status.

/** One message for all steps from the download to the artifact: a message per step would cost writes that help nobody. */
const TAKING = 'the download is complete; the artifact is being made'

function underWay({ draft }: { readonly draft: ImageDraft }, how: UnderWay, rest?: PlanRest): ImagePlan {
  const status = withSuccess(draft)
  const next = { ...status, ...OUT_OF_QUEUE, snapshotStartedAt: status.snapshotStartedAt ?? toTime(draft.now) }
  return planAt(draft, next, { phase: 'Snapshotting', reason: 'Snapshotting', upToDate: false, ...how }, rest)
}

type UnderWay = Pick<ImageSummary, 'message'> & Partial<ImageSummary>

/** Records the success of a download once it is observed. */
function withSuccess({ world, dataVolume, target, status, now }: ImageDraft): VMDiskImageStatus {
  if (dataVolume === undefined || hasSucceeded(status, dataVolume.metadata.uid)) return status
  const recorded = recordSuccess(status, subjectOf(dataVolume, world.image.status, target.revision), now)
  return { ...recorded, progress: '100.0%', ...OUT_OF_QUEUE }
}

/** Only people can bring it back, or give it up: its storage may still have the data. */
function planVolumeLost(situation: In<'volumeLost'>): ImagePlan {
  const { name } = situation.claim.metadata
  const message = `PersistentVolumeClaim ${name} has lost its volume (it is Lost): bring the PersistentVolume back, or delete the claim, and the image is downloaded again`
  return underWay(situation, { message, stalled: true })
}

function planSnapshotBlocked(situation: In<'snapshotBlocked'>): ImagePlan {
  const { blocked } = situation
  return underWay(situation, { ...blocked, stalled: blocked.reason === 'NameConflict', isHeldBack: true })
}

function takeSnapshot(situation: In<'snapshotting'>): ImagePlan {
  const { world, target } = situation.draft
  const snapshot = renderVolumeSnapshot({
    image: identityOf(situation.draft),
    name: target.snapshotName,
    revision: target.revision,
    claimName: claimOf(situation.draft)?.metadata.name ?? target.volumeName,
    snapshotClass: target.snapshotClass ?? '',
  })
  const work = { apply: [snapshot as KubeObject] }
  const { writeRefusal: answer } = world
  if (answer === undefined) return underWay(situation, { message: TAKING }, work)
  const message = `the download is complete, and the API server refuses VolumeSnapshot ${target.snapshotName}: ${answer}; it is tried again by itself`
  return underWay(situation, { reason: 'Refused', message }, work)
}

function waitForSnapshot(situation: In<'snapshotting'>, snapshot: SnapshotView): ImagePlan {
  const { draft } = situation
  const afterMs = snapshotDueAt(snapshot, draft) - draft.now
  const requeue = { afterMs, because: 'the snapshot should be ready by then' }
  return underWay(situation, { message: `${TAKING}${troubleOf(snapshot)}` }, { requeue })
}

/** The downloaded volume stays. */
function planRetaking(situation: In<'retaking'>): ImagePlan {
  const { snapshot, why, draft } = situation
  const trouble = troubleOf(snapshot)
  switch (why) {
    case 'deleted': {
      const message = `waiting until VolumeSnapshot ${draft.target.snapshotName} is gone; if this lasts, check its finalizers, and that the snapshot controller runs`
      return underWay(situation, { message })
    }
    case 'otherClass':
      return underWay(
        situation,
        { message: 'taking the snapshot again, with another class' },
        { remove: removalOf(snapshot) },
      )
    case 'late': {
      const message = `VolumeSnapshot ${snapshot.metadata.name} was not ready within the policy key snapshotTimeout${trouble}; it is taken again`
      const events = [{ type: 'Warning', reason: 'SnapshotFailed', message } as const]
      const work = { remove: removalOf(snapshot), events }
      return underWay(situation, { message: `taking the snapshot again${trouble}` }, work)
    }
  }
}

function troubleOf({ error }: SnapshotView): string {
  return error === undefined ? '' : `; its controller reports: ${redactUrls(error)}`
}

/** Writes the alias first, then the status that says that the artifact can be used. */
function planPublishing({ draft, made }: In<'publishing'>): ImagePlan {
  const { now, target } = draft
  const status = withSuccess(draft)
  const alias = aliasOf(draft, made)
  if (alias !== undefined) {
    const onTheWay = statusOnTheWay({ ...draft, status })
    return { ...planAt(draft, status, PUBLISHING, { apply: [alias] }), status: onTheWay }
  }
  const artifact: Artifact = withoutUndefined({
    ...made,
    ...modesOf(draft),
    revision: target.revision,
    storageClass: (isAdopted(draft) ? draft.status.adoption?.storageClass : undefined) ?? target.storageClass,
    publishedAt: toTime(now),
  })
  return atRest({ ...draft, status: { ...status, artifact } })
}

function isAdopted({ status: { adoption }, target }: ImageDraft): boolean {
  return adoption?.uid !== undefined && adoption.revision === target.revision
}

const PUBLISHING = {
  phase: 'Snapshotting',
  reason: 'Snapshotting',
  message: 'publishing the artifact',
  upToDate: false,
} as const

/** Nobody needs to know that an alias is about to be written: the current phase is still true. */
function statusOnTheWay(draft: ImageDraft): VMDiskImageStatus {
  const before = draft.world.image.status
  if (before.phase === 'Syncing' || before.phase === 'Snapshotting') return before
  return withImageSummary(draft.status, PUBLISHING, draft)
}

/** A clone needs the volume mode of its source, or it becomes a copy over the network. */
function modesOf(draft: ImageDraft): Pick<Artifact, 'volumeMode' | 'accessModes'> {
  const { status, target } = draft
  const claim = claimOf(draft)
  if (claim !== undefined) return { volumeMode: claim.volumeMode, accessModes: [...claim.accessModes] }
  const before = status.artifact?.revision === target.revision ? status.artifact : undefined
  return { volumeMode: before?.volumeMode, accessModes: before?.accessModes }
}

const renderedAlias = memoizedLately(AT_WORK, renderDataSource, JSON.stringify)

/** Returns the DataSource named like the image, if it must be written. */
function aliasOf(draft: ImageDraft, { kind, name }: Pick<MadeArtifact, 'kind' | 'name'>): KubeObject | undefined {
  const { world, target } = draft
  if (!world.surroundings.hasDataSources || isAliasTaken(world) || world.namespaceTerminating) return undefined
  const { revision } = target
  const wanted = renderedAlias({ image: identityOf(draft), target: { kind, name }, revision }) as KubeObject
  return world.dataSource !== undefined && ownsEqual(wanted, world.dataSource) ? undefined : wanted
}

function isAliasTaken({ dataSource, image }: ImageWorld): boolean {
  return dataSource !== undefined && !isChildOf(dataSource, image)
}

function identityOf({ world, target: { specName } }: ImageDraft): ImageRef {
  const { name, namespace = '', uid = '' } = world.image.metadata
  return { name, namespace, uid, specName }
}

// Its artifact of the wanted revision is published: only housekeeping is left.

/** How long the previous artifact stays after the alias points to the new one: clones that just began still read it. */
const RETIRE_AFTER_MS = 10 * 60_000
/** A create whose response was lost may take effect this late. Until then its name must stay taken, or it would download again. */
const NAME_KEPT_MS = 20_000

function planSteady({ draft }: In<'steady'>): ImagePlan {
  const { artifact } = draft.status
  const leftovers = leftoversOf(draft)
  const alias = artifact && aliasOf(draft, artifact)
  const due = alias === undefined ? leftovers.filter(({ leftMs }) => leftMs <= 0) : []
  const remove = due.flatMap(({ child, read }) => [
    ...needlessOf(child, draft.world),
    ...removalOf(child, uncloned(child, read), ...unsharedIf(draft.world, child)),
  ])
  return atRest(draft, { apply: alias === undefined ? [] : [alias], remove, requeue: requeueOf(leftovers, remove) })
}

function atRest(draft: ImageDraft, rest?: PlanRest): ImagePlan {
  const rested = { ...draft.status, ...OUT_OF_QUEUE, progress: undefined, snapshotStartedAt: undefined }
  return planAt(draft, rested, restingPlace(draft), rest)
}

function restingPlace(draft: ImageDraft): ImageSummary {
  const {
    world,
    status: { artifact },
    target: { snapshotClass },
  } = draft
  const phase = 'Succeeded'
  if (isAliasTaken(world)) {
    const message = `DataSource ${world.image.metadata.name} exists and belongs to somebody else: the operator does not touch it, so only status.artifact leads to the image; delete it to have it replaced`
    return { phase, reason: 'NameConflict', message, stalled: true, upToDate: true }
  }
  const isOfClass = snapshotClass === undefined || artifact?.snapshotClass === snapshotClass
  if (artifact?.kind === 'VolumeSnapshot' && !isOfClass && !isOfAdoptedSnapshot(draft)) {
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
  const bySnapshot = { read: 'cached', leftMs: nameFreeAt - now, because: 'the source volume may go then' } as const
  const earlierVolumes = world.dataVolumes.filter(
    (one) => isFinished(one) && one.metadata.labels?.[LABELS.revision] !== target.revision,
  )
  // Also one of the same revision, but of an earlier class.
  const earlierSnapshots = world.snapshots.filter(({ metadata }) => !isSnapshot || metadata.name !== artifact.name)
  const retiredAt = (fromTime(artifact?.publishedAt) ?? now) + RETIRE_AFTER_MS
  const byArtifact = { read: 'live', leftMs: retiredAt - now, because: 'earlier artifacts may go then' } as const
  const disposable = world.image.status.adoption?.revision === target.revision ? [] : disposableOf(world)
  const earlier = [...earlierVolumes, ...earlierSnapshots, ...disposable].filter((child) => !isTerminating(child))
  return [...spare.map((child) => ({ child, ...bySnapshot })), ...earlier.map((child) => ({ child, ...byArtifact }))]
}

function requeueOf([first]: ReturnType<typeof leftoversOf>, removals: readonly Removal[]): Requeue | undefined {
  if (removals.length > 0) return { afterMs: CLONED_LOOK_MS, because: 'what clones held back may go then' }
  return first && { afterMs: Math.max(1_000, first.leftMs), because: first.because }
}

// It has no artifact, no slot and nothing in progress.

function waiting(draft: ImageDraft, status: VMDiskImageStatus, summary: ImageSummary, requeue?: Requeue): ImagePlan {
  return planAt(draft, { ...status, progress: undefined, ...OUT_OF_QUEUE }, summary, { requeue })
}

/** Out of the queue: later it takes a new ticket. */
function waitingWithoutTicket(
  { draft }: { readonly draft: ImageDraft },
  summary: ImageSummary,
  requeue?: Requeue,
): ImagePlan {
  return waiting(draft, { ...draft.status, ticket: undefined }, summary, requeue)
}

/** Without a ticket: it never takes a slot. */
function planAdopting(situation: In<'adopting'>): ImagePlan {
  const { draft, pending } = situation
  const phase = 'Queued'
  if (pending.state === 'refused')
    return waitingWithoutTicket(situation, {
      phase,
      ...pending.refusal,
      // What is not finished is adopted when it is.
      stalled: pending.refusal.reason !== 'AdoptionUnfinished',
      isHeldBack: true,
    })
  const message = draft.adopted?.message ?? `looking at ${adoptableTitle(pending.adoptable)}`
  return waitingWithoutTicket(situation, { phase, reason: 'Adopting', message })
}

function planSuspended({ draft }: In<'suspended'>): ImagePlan {
  const message = 'spec.suspend is true: set it to false to continue'
  const summary = { phase: 'Queued', reason: 'Suspended', message, isHeldBack: true } as const
  return waiting(draft, { ...renewed(draft.status), ticket: undefined }, summary)
}

function planRejected(situation: In<'rejected'>): ImagePlan {
  const { draft, refusal } = situation
  const written = draft.world.image.status.message ?? ''
  const message = refusal === undefined ? written : `${refusal.message}; ${remedyFor(draft.target)}`
  return waitingWithoutTicket(situation, { phase: 'Failed', reason: 'RejectedByCDI', message, stalled: true })
}

function planFailed(situation: In<'failed'>): ImagePlan {
  const { draft, attempt } = situation
  const [reason, why, more] = isPermanent(attempt.reason)
    ? ([attempt.reason, 'a retry cannot fix this', ''] as const)
    : (['RetryLimitExceeded', 'no retry is left', '; a higher policy key retryLimit allows more attempts'] as const)
  const { downloads = 0 } = draft.status.budget ?? {}
  const used = `${downloads} download${downloads === 1 ? '' : 's'} used`
  const message = `${attempt.message} (${why}, ${used}); ${remedyFor(draft.target)}${more}`
  return waitingWithoutTicket(situation, { phase: 'Failed', reason, message, stalled: true })
}

/** What revives an image that has failed. */
function remedyFor({ defaults }: Target): string {
  const again = `correct the spec of the VMDiskImage, or fix the cause and set annotation ${ANNOTATIONS.retryRequestedAt} to a new value`
  const fields = Object.keys(defaults).join(', ')
  if (fields === '') return again
  return `${again} (${fields}: from the policy when the image was queued; annotation ${ANNOTATIONS.syncRequestedAt} takes the current values)`
}

function planUnneeded(situation: In<'unneeded'>): ImagePlan {
  const { isExpired: isHeldBack } = situation
  const message = isHeldBack
    ? 'nothing has referred to this image for its unreferencedTTL: it is being removed'
    : 'nothing refers to this image any more: it is downloaded when something refers to it again'
  return waitingWithoutTicket(situation, { phase: 'Queued', reason: 'Unreferenced', message, isHeldBack })
}

function planBackoff(situation: In<'backoff'>): ImagePlan {
  const { world, status, now } = situation.draft
  const requeue = { afterMs: situation.until - now, because: 'the next attempt may start then' }
  const lack = lackAfterRefusal(status, world)
  if (lack !== undefined)
    return waitingWithoutTicket(situation, { phase: 'Queued', reason: 'QuotaExceeded', message: lack }, requeue)
  const last = status.attempts?.at(-1)
  const message = `attempt ${last?.number ?? 1} failed: ${last?.message ?? ''}; next attempt at ${status.nextRetryTime}`
  return waitingWithoutTicket(situation, { phase: 'Queued', reason: 'RetryBackoff', message }, requeue)
}

/** Reasons that do not go away by themselves. */
const NEEDS_SOMEBODY: ReadonlySet<Reason> = new Set<Reason>(['NameConflict', 'LeftoverClaim'])

/** It has a ticket, but no place in the queue. */
function planBlocked({ draft, blocked }: In<'blocked'>): ImagePlan {
  const { reason, message, until }: Blocked = blocked
  const because = 'a refused DataVolume is tried again'
  const requeue = until === undefined ? undefined : { afterMs: Math.max(1_000, until - draft.now), because }
  const stalled = NEEDS_SOMEBODY.has(reason)
  const summary: ImageSummary = { phase: 'Queued', reason, message, stalled, isHeldBack: requeue === undefined }
  return waiting(draft, withTicket(draft), summary, requeue)
}

function planQueued({ draft }: In<'queued'>): ImagePlan {
  const { world, now } = draft
  const { queuePosition } = world
  const queuePositionTime = queuePosition === undefined ? undefined : toTime(now)
  const queued = withTicket(draft)
  const placed = { ...queued, progress: undefined, queuePosition, queuePositionTime }
  return planAt(draft, placed, waitingForSlot(world), { start: startOf(draft, queued) })
}

/** The messages have no numbers because they stay for minutes. The queue position and its time have their own fields. */
function waitingForSlot({ limit }: ImageWorld): ImageSummary {
  const phase = 'Queued'
  if (limit !== 0) return { phase, reason: 'Queued', message: 'Request is waiting for an available worker.' }
  const message = 'the policy key concurrency is 0, so no download starts: set it to 1 or more'
  return { phase, reason: 'Paused', message }
}

/** Takes a new ticket, or keeps the one that the image already waits with. */
function withTicket({ world, now, status }: ImageDraft): VMDiskImageStatus {
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
