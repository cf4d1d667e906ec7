import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  ADOPTABLE_KINDS,
  type Adoptable,
  parseAdoptable,
  VM_DISK_IMAGE_CONDITIONS,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { fromTime } from '../../../base/time.ts'
import { isFinished } from '../../../cluster/import-facts.ts'
import { type ClaimView, type DataVolumeView, hasLostVolume, type SnapshotView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { saidBefore, saying } from '../../../runtime/conditions.ts'
import type { Unshared } from '../../../runtime/preconditions.ts'
import type { AdoptionFacts } from '../adoption-facts.ts'
import type { ImageWorld } from '../world.ts'
import { type AdoptionRefusal, adoptableTitle, judgeAdoptable, type SayingOnAdoption } from './judge-adoption.ts'
import type { Target } from './target.ts'

/**
 * What becomes of an image with the annotation `pelotech.ot/adopt`: an object that somebody else made takes the place of a download, for one
 * revision. The object gets no owner reference, so that no garbage collection and no other controller of ours ever deletes it: the
 * status of the image says what it has adopted, by uid. It is deleted only if the spec says `reclaimPolicy: Delete`.
 */
export type Adoption = Pending | { readonly state: 'adopted'; readonly adoptable: Adoptable }

/** Not adopted yet, or not at all. Nothing is downloaded meanwhile. */
export type Pending =
  | { readonly state: 'looking'; readonly adoptable: Adoptable }
  | { readonly state: 'refused'; readonly adoptable: Adoptable | undefined; readonly refusal: AdoptionRefusal }

type Record = NonNullable<VMDiskImageStatus['adoption']>

/** What an image adopts, its status with that, and the condition that tells of it. */
interface Adopting {
  readonly status: VMDiskImageStatus
  /** Undefined: the wanted revision is downloaded, or is there already. */
  readonly adoption: Adoption | undefined
  readonly adopted: SayingOnAdoption | undefined
}

/** @param status brought up to the wanted revision, without an artifact that is gone */
export function adoptionOf(
  world: ImageWorld,
  target: Target,
  status: VMDiskImageStatus,
  dataVolume: DataVolumeView | undefined,
): Adopting {
  const value = world.image.metadata.annotations?.[ANNOTATIONS.adopt]
  const { adoption: before } = status
  if (value === undefined || isSpent(value, target, status)) return settled(value, status)
  const told = toldOf(status)
  if (isMadeOtherwise(value, target, world, status, dataVolume))
    return { status, adoption: undefined, adopted: undefined }
  const isOfIt = before?.object === value && before.uid !== undefined
  // Its snapshot is there, and needs the claim no more.
  if (isOfIt && status.artifact?.revision === target.revision && status.artifact.adoptedUID === undefined)
    return { status, ...snapshotted(before, world, told) }
  const adoptable = parseAdoptable(value)
  if (before === undefined && isDropped(told)) return droppedRecord(adoptable, status)
  const record = before?.object === value ? before : newRecord(value, target, world, before)
  const recorded = recordedIn(status, record, world)
  if (adoptable !== undefined && isHeld(record, adoptable, world))
    return { status: recorded, adoption: { state: 'adopted', adoptable }, adopted: told ?? adoptedBefore(adoptable) }
  return judged({ world, target, status: recorded, record }, adoptable)
}

/** Reports whether the wanted revision is downloaded already: the annotation waits for the next one. */
function isMadeOtherwise(
  value: string,
  { revision }: Target,
  { snapshots }: ImageWorld,
  { artifact, adoption }: VMDiskImageStatus,
  dataVolume: DataVolumeView | undefined,
): boolean {
  if (dataVolume !== undefined && isFinished(dataVolume)) return true
  if (adoption?.object === value && adoption.uid !== undefined) return false
  // Also where the status was lost.
  const isOfIt = (one: SnapshotView) => one.metadata.labels?.[LABELS.revision] === revision && !isTerminating(one)
  return artifact?.revision === revision || snapshots.some(isOfIt)
}

/** How much later than the rule an image has to be: API servers take a moment to know a new rule. */
const RULE_KNOWN_AFTER_MS = 5_000

/**
 * Who creates an image with the annotation is checked then: one that is older than the rule may have been annotated before it. Who sets another value is checked
 * then, if the rule is still the one that was there when the value before was judged: otherwise it may have been away meanwhile.
 */
function newRecord(
  object: string,
  { revision }: Target,
  { image, adoptable }: ImageWorld,
  before: Record | undefined,
): Record {
  const { checkedSince: since, rule } = adoptable?.sighted?.facts ?? {}
  const createdAt = fromTime(image.metadata.creationTimestamp) ?? 0
  const mayPrecede = before === undefined ? createdAt < (since ?? 0) + RULE_KNOWN_AFTER_MS : before.rule !== rule
  const isUnchecked = since !== undefined && mayPrecede
  return { object, revision, ...(isUnchecked && { unchecked: true as const }) }
}

/**
 * Without a record, nothing tells a first look from a later one: none is written before there is a verdict. The record of another value tells whether the rule
 * may have been away since: it is replaced when something was read.
 */
function recordedIn(status: VMDiskImageStatus, record: Record, { adoptable }: ImageWorld): VMDiskImageStatus {
  const { adoption: before } = status
  const isRead = adoptable?.sighted !== undefined || parseAdoptable(record.object) === undefined
  const isKept = before === undefined || (before.object !== record.object && !isRead)
  return isKept ? status : { ...status, adoption: record }
}

/** Reports whether the record is lost that is written with this condition: an earlier CRD drops it. */
function isDropped(told: SayingOnAdoption | undefined): boolean {
  return told !== undefined && told.reason !== 'AdoptionInvalid'
}

function droppedRecord(adoptable: Adoptable | undefined, status: VMDiskImageStatus): Adopting {
  const message = `the CRD of VMDiskImages does not keep what is adopted, as it is of an earlier version: install the CRDs of this one, then remove annotation ${ANNOTATIONS.adopt} and set it again`
  const refusal = { reason: 'AdoptionUnchecked', message } as const
  return {
    status,
    adoption: { state: 'refused', adoptable, refusal },
    adopted: saying(false, refusal),
  }
}

/** The claim may still be there. */
function snapshotted(record: Record, world: ImageWorld, told: SayingOnAdoption | undefined): Omit<Adopting, 'status'> {
  const adoptable = parseAdoptable(record.object)
  if (adoptable === undefined) return { adoption: undefined, adopted: told }
  return {
    adoption: isHeld(record, adoptable, world) ? { state: 'adopted', adoptable } : undefined,
    adopted: told?.status === 'True' ? told : adoptedBefore(adoptable),
  }
}

function toldOf({ conditions }: VMDiskImageStatus): SayingOnAdoption | undefined {
  return saidBefore(conditions, VM_DISK_IMAGE_CONDITIONS.Adopted)
}

/** Reports whether the artifact is what was adopted, or was made of it. */
function isOfAdoption({ adoption, artifact }: VMDiskImageStatus): boolean {
  return adoption?.uid !== undefined && artifact?.revision === adoption.revision
}

/** Reports whether the annotation stands for an earlier revision, or the image has adopted something else for this one: it takes no other. */
function isSpent(value: string, { revision }: Target, status: VMDiskImageStatus): boolean {
  const { adoption, artifact } = status
  if (adoption?.object === value) return adoption.revision !== revision
  return isOfAdoption(status) && artifact?.revision === revision
}

/** Nothing is to be adopted. What was adopted stays, also if its author removes the annotation. */
function settled(value: string | undefined, status: VMDiskImageStatus): Adopting {
  const isOfIt = isOfAdoption(status)
  const isKept = isOfIt || (value !== undefined && status.adoption?.object === value)
  return {
    status: isKept ? status : { ...status, adoption: undefined },
    adoption: undefined,
    adopted: isOfIt ? toldOf(status) : undefined,
  }
}

interface Case {
  readonly world: ImageWorld
  readonly target: Target
  readonly status: VMDiskImageStatus
  readonly record: Record
}

function judged({ world, target, status, record }: Case, adoptable: Adoptable | undefined): Adopting {
  const verdict = verdictOn(adoptable, { world, target, status, record })
  const { rule = record.rule } = world.adoptable?.sighted?.facts ?? {}
  const { uid: _uid, storageClass: _class, rule: _rule, ...rest } = record
  const plain = { ...rest, ...(rule !== undefined && { rule }) }
  const isFirst = status.adoption === undefined
  const looking = (one: Adoptable) => {
    const message = `looking at ${adoptableTitle(one)}, which annotation ${ANNOTATIONS.adopt} names`
    return saying(false, { reason: 'Adopting', message })
  }
  if (verdict.state === 'looking')
    return { status, adoption: verdict, adopted: isFirst ? undefined : looking(verdict.adoptable) }
  if (verdict.state === 'refused') {
    const isUnchecked = record.unchecked === true || world.adoptable?.sighted?.facts.fault !== undefined
    const adoption = { ...plain, ...(isUnchecked && { unchecked: true as const }) }
    return {
      // A value that names nothing is no first record: another write sets one that does.
      status: isFirst && adoptable === undefined ? status : { ...status, adoption },
      adoption: verdict,
      adopted: saying(false, verdict.refusal),
    }
  }
  if (isFirst) {
    // Only a record that the API server keeps is built on.
    const { adoptable: which } = verdict
    return {
      status: { ...status, adoption: plain },
      adoption: { state: 'looking', adoptable: which },
      adopted: looking(which),
    }
  }
  const { adoptable: which, proof, uid, storageClass } = verdict
  const adoption = { ...plain, uid, ...(storageClass !== undefined && { storageClass }) }
  return {
    status: { ...status, adoption },
    adoption: { state: 'adopted', adoptable: which },
    adopted: saying(true, proof),
  }
}

/** Its condition is gone, which somebody has taken away. */
function adoptedBefore(adoptable: Adoptable): SayingOnAdoption {
  const message = `${adoptableTitle(adoptable)} was adopted; what was proved of it then is not recorded any more`
  return saying(true, { reason: 'SourceUnknown', message })
}

/** Reports whether what was adopted is still there, and usable. */
function isHeld({ uid }: Record, adoptable: Adoptable, world: ImageWorld): boolean {
  return uid !== undefined && adoptedObject({ uid }, adoptable, world) !== undefined
}

/** Returns the claim or snapshot that was adopted, as the caches have it; undefined if it is gone, going or lost. */
function adoptedObject(
  { uid }: Pick<Record, 'uid'>,
  { kind }: Adoptable,
  { adoptable }: ImageWorld,
): ClaimView | SnapshotView | undefined {
  const found = kind === 'VolumeSnapshot' ? adoptable?.snapshot : adoptable?.claim
  if (found === undefined || uid === undefined || found.metadata.uid !== uid || isTerminating(found)) return undefined
  return 'phase' in found && hasLostVolume(found) ? undefined : found
}

/** Returns the claim that an image has adopted, of any revision. */
export function adoptedClaim(world: ImageWorld, { adoption }: VMDiskImageStatus): ClaimView | undefined {
  const found = recorded(world, adoption)
  return found?.kind === 'PersistentVolumeClaim' ? (found as ClaimView) : undefined
}

/** Returns the snapshot that an image has adopted, of any revision. */
export function adoptedSnapshot(world: ImageWorld, { adoption }: VMDiskImageStatus): SnapshotView | undefined {
  const found = recorded(world, adoption)
  return found?.kind === 'VolumeSnapshot' ? (found as SnapshotView) : undefined
}

function recorded(world: ImageWorld, adoption: Record | undefined): KubeObject | undefined {
  const named = adoption && parseAdoptable(adoption.object)
  return named && adoptedObject(adoption, named, world)
}

/**
 * Returns what is to be deleted with the image, or when its next revision is there: what it has adopted, if its spec says so, and its author still does. Never
 * what somebody else owns, or another image has adopted too. Caches know too few owners, and no users: {@link unsharedIf} is to be asked before.
 */
export function disposableOf(world: ImageWorld): readonly KubeObject[] {
  const { image, spec, adoptable } = world
  const { adoption } = image.status
  const isAsked = spec.ok && spec.spec.reclaimPolicy === 'Delete'
  if (!isAsked || adoption?.uid === undefined || image.metadata.annotations?.[ANNOTATIONS.adopt] !== adoption.object)
    return []
  // Its spec is of a template, which the operator writes with its own rights: nobody has asked whether the author of that may delete a disk.
  const { labels, annotations } = image.metadata
  if (labels?.[LABELS.createdBy] !== undefined || annotations?.[ANNOTATIONS.creator] !== undefined) return []
  const held = recorded(world, adoption)
  if (held === undefined || adoptable === undefined || adoptable.otherAdopter !== undefined) return []
  const { dataVolume } = adoptable
  const [owner] = held.metadata.ownerReferences ?? []
  if (owner === undefined) return [held]
  // Without its DataVolume, CDI would fill the claim again.
  const isOfDataVolume = dataVolume !== undefined && dataVolume.metadata.uid === owner.uid
  return isOfDataVolume && !dataVolume.metadata.ownerReferences?.length ? [dataVolume] : []
}

/** Returns what must be true of a child before it is deleted: what was adopted may have another owner or user that no cache shows. */
export function unsharedIf(world: ImageWorld, child: KubeObject): readonly Unshared[] {
  const { kind, metadata } = child
  const { namespace = '', name } = metadata
  return disposableOf(world).includes(child) ? [{ unshared: { kind, namespace, name } }] : []
}

interface Accepted {
  readonly state: 'accepted'
  readonly adoptable: Adoptable
  readonly uid: string
  readonly storageClass: string | undefined
  readonly proof: AdoptionRefusal
}

function verdictOn(adoptable: Adoptable | undefined, given: Case): Pending | Accepted {
  if (adoptable === undefined) {
    const message = `annotation ${ANNOTATIONS.adopt} must be datavolume/NAME, persistentvolumeclaim/NAME or volumesnapshot/NAME; remove it to have the image downloaded`
    return { state: 'refused', adoptable, refusal: { reason: 'AdoptionInvalid', message } }
  }
  const { world } = given
  const { sighted, otherAdopter } = world.adoptable ?? {}
  if (sighted === undefined) return { state: 'looking', adoptable }
  const { facts, isFresh } = sighted
  const { metadata } = world.image
  const judgement = judgeAdoptable(adoptable, facts, {
    namespace: metadata.namespace ?? '',
    target: given.target,
    isAnySource: metadata.annotations?.[ANNOTATIONS.adoptSource] === 'any',
  })
  const refusal = unchecked(given, facts) ?? adoptedByOther(adoptable, otherAdopter) ?? judgement.refusal
  if (refusal !== undefined) return { state: 'refused', adoptable, refusal }
  const held = adoptable.kind === 'DataVolume' ? facts.claim : facts.object
  // What the caches have must be what was judged.
  const uid = held?.uid ?? ''
  if (!isFresh || adoptedObject({ uid }, adoptable, world) === undefined) return { state: 'looking', adoptable }
  return {
    state: 'accepted',
    adoptable,
    uid,
    storageClass: held?.storageClass,
    proof: judgement.proof,
  }
}

function unchecked({ record }: Case, { fault }: AdoptionFacts): AdoptionRefusal | undefined {
  const again = `set annotation ${ANNOTATIONS.adopt} to ${otherSpelling(record.object)}, which means the same: who sets it is checked then`
  if (fault !== undefined)
    return {
      reason: 'AdoptionUnchecked',
      message: `nobody checks whether the author of this image may have it adopted: ${fault.why}; install the admission rules, then ${again}`,
    }
  if (record.unchecked !== true) return undefined
  const message = `annotation ${ANNOTATIONS.adopt} may have been set while nobody checked whether its author may delete what it names: ${again}`
  return { reason: 'AdoptionUnchecked', message }
}

/** To remove the annotation would start the download. */
function otherSpelling(value: string): string {
  const adoptable = parseAdoptable(value)
  if (adoptable === undefined) return value
  const words = ADOPTABLE_KINDS[adoptable.kind].words
  const [long, , short] = words
  return `${value.startsWith(`${short}/`) ? long : short}/${adoptable.name}`
}

function adoptedByOther(adoptable: Adoptable, other: string | undefined): AdoptionRefusal | undefined {
  if (other === undefined) return undefined
  const message = `VMDiskImage ${other} has adopted ${adoptableTitle(adoptable)}: remove the annotation from one of them`
  return { reason: 'AdoptionInUse', message }
}
