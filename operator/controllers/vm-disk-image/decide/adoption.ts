import { ANNOTATIONS } from '@open-terrain/constructs'
import { type Adoptable, parseAdoptable, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { isFinished } from '../../../cluster/import-facts.ts'
import { type ClaimView, type DataVolumeView, hasLostVolume, type SnapshotView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import type { NewCondition } from '../../../runtime/conditions.ts'
import { newCondition } from '../../../runtime/summary.ts'
import type { AdoptionFacts } from '../adoption-facts.ts'
import type { ImageWorld } from '../world.ts'
import { type AdoptionRefusal, adoptableTitle, judgeAdoptable } from './judge-adoption.ts'
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
  readonly adopted: NewCondition | undefined
}

export const ADOPTED = 'Adopted'

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
  const record: Record = before?.object === value ? before : { object: value, revision: target.revision }
  const told = toldOf(status)
  // An earlier CRD drops the record: it is not written again each time.
  const recorded = before === undefined && told !== undefined ? status : { ...status, adoption: record }
  const isMade = status.artifact?.revision === target.revision && record.uid === undefined
  if (isMade || (dataVolume !== undefined && isFinished(dataVolume)))
    return { status: recorded, adoption: undefined, adopted: undefined }
  const adoptable = parseAdoptable(value)
  if (adoptable !== undefined && isHeld(record, adoptable, world))
    return { status: recorded, adoption: { state: 'adopted', adoptable }, adopted: told ?? adoptedBefore(adoptable) }
  return judged({ world, target, status: recorded, record }, adoptable)
}

function toldOf({ conditions }: VMDiskImageStatus): NewCondition | undefined {
  return conditions?.find(({ type }) => type === ADOPTED)
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
  const { uid: _uid, storageClass: _class, ...plain } = record
  if (verdict.state === 'looking') {
    const message = `looking at ${adoptableTitle(verdict.adoptable)}, which annotation ${ANNOTATIONS.adopt} names`
    const adopted = newCondition(ADOPTED, false, { reason: 'Adopting', message })
    return { status, adoption: verdict, adopted }
  }
  if (verdict.state === 'refused') {
    const isUnchecked = record.unchecked === true || world.adoptable?.sighted?.facts.fault?.isWrong === true
    const adoption = { ...plain, ...(isUnchecked && { unchecked: true as const }) }
    const isStored = status.adoption !== undefined
    return {
      status: isStored ? { ...status, adoption } : status,
      adoption: verdict,
      adopted: newCondition(ADOPTED, false, verdict.refusal),
    }
  }
  const { adoptable: which, proof, uid, storageClass } = verdict
  const adoption = { ...plain, uid, ...(storageClass !== undefined && { storageClass }) }
  return {
    status: { ...status, adoption },
    adoption: { state: 'adopted', adoptable: which },
    adopted: newCondition(ADOPTED, true, proof),
  }
}

/** Its condition is gone, which somebody has taken away. */
function adoptedBefore(adoptable: Adoptable): NewCondition {
  const message = `${adoptableTitle(adoptable)} was adopted; what was proved of it then is not recorded any more`
  return newCondition(ADOPTED, true, { reason: 'SourceUnknown', message })
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
 * what somebody else controls, or another image has adopted too.
 */
export function disposableOf(world: ImageWorld): readonly KubeObject[] {
  const { image, spec, adoptable } = world
  const { adoption } = image.status
  const isAsked = spec.ok && spec.spec.reclaimPolicy === 'Delete'
  if (!isAsked || adoption?.uid === undefined || image.metadata.annotations?.[ANNOTATIONS.adopt] !== adoption.object)
    return []
  const held = recorded(world, adoption)
  if (held === undefined || adoptable === undefined || adoptable.otherAdopter !== undefined) return []
  const { dataVolume } = adoptable
  const controller = held.metadata.ownerReferences?.find((one) => one.controller === true)
  if (controller === undefined) return [held]
  // Without its DataVolume, CDI would fill the claim again.
  const isOfDataVolume = dataVolume !== undefined && dataVolume.metadata.uid === controller.uid
  const isFree = dataVolume?.metadata.ownerReferences?.some((one) => one.controller === true) !== true
  return isOfDataVolume && isFree ? [dataVolume] : []
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
  const why = 'nobody checks whether the author of this image may have it adopted'
  if (fault !== undefined)
    return {
      reason: 'AdoptionUnchecked',
      message: `${why}: ${fault.why}; install the admission rules, then remove annotation ${ANNOTATIONS.adopt} and set it again`,
    }
  if (record.unchecked !== true) return undefined
  const message = `annotation ${ANNOTATIONS.adopt} was set while nobody checked whether its author may delete what it names: remove it, and set it again`
  return { reason: 'AdoptionUnchecked', message }
}

function adoptedByOther(adoptable: Adoptable, other: string | undefined): AdoptionRefusal | undefined {
  if (other === undefined) return undefined
  const message = `VMDiskImage ${other} has adopted ${adoptableTitle(adoptable)}: remove the annotation from one of them`
  return { reason: 'AdoptionInUse', message }
}
