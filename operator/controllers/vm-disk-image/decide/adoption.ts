import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type Adoptable,
  parseAdoptable,
  parseQuantity,
  type Reason,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { redactUrls } from '../../../base/messages.ts'
import { isFinished } from '../../../cluster/import-facts.ts'
import { type ClaimView, type DataVolumeView, hasLostVolume, type SnapshotView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import type { NewCondition } from '../../../runtime/conditions.ts'
import { newCondition } from '../../../runtime/summary.ts'
import type { AdoptedObject, AdoptionFacts, FilledFrom, Ownership } from '../adoption-facts.ts'
import type { ImageWorld } from '../world.ts'
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

export interface AdoptionRefusal {
  readonly reason: Reason
  /** One sentence: what is wrong, and what to do. */
  readonly message: string
}

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
  const { adoption: before, artifact } = status
  const isSame = before !== undefined && before.object === value
  const told = status.conditions?.find(({ type }) => type === ADOPTED)
  // Who removes the annotation keeps what was adopted.
  const isOfArtifact = before?.uid !== undefined && artifact?.revision === before.revision
  // An image that has what it wants takes no other.
  const isSettled = isOfArtifact && artifact.revision === target.revision && !isSame
  if (value === undefined || isSettled || (isSame && before.revision !== target.revision)) {
    const isKept = isOfArtifact || isSame
    return {
      status: isKept ? status : { ...status, adoption: undefined },
      adoption: undefined,
      adopted: isOfArtifact ? told : undefined,
    }
  }
  const record: Record = isSame ? before : { object: value, revision: target.revision }
  // An earlier CRD drops the record: it is not written again each time.
  const recorded = before === undefined && told !== undefined ? status : { ...status, adoption: record }
  const isMade = artifact?.revision === target.revision && record.uid === undefined
  if (isMade || (dataVolume !== undefined && isFinished(dataVolume)))
    return { status: recorded, adoption: undefined, adopted: undefined }
  const adoptable = parseAdoptable(value)
  if (adoptable !== undefined && isHeld(record, adoptable, world))
    return { status: recorded, adoption: { state: 'adopted', adoptable }, adopted: told ?? adoptedBefore(adoptable) }
  return judged({ world, target, status: recorded, record }, adoptable)
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
    const message = `looking at ${titleOf(verdict.adoptable)}, which annotation ${ANNOTATIONS.adopt} names`
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
  const message = `${titleOf(adoptable)} was adopted; what was proved of it then is not recorded any more`
  return newCondition(ADOPTED, true, { reason: 'SourceUnknown', message })
}

export function titleOf({ kind, name }: Pick<Adoptable, 'name'> & { readonly kind: string }): string {
  return `${kind} ${name}`
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
  const refusal =
    unchecked(given, facts) ??
    adoptedByOther(adoptable, otherAdopter) ??
    refusalOf(adoptable, facts, given) ??
    sourceRefusal(adoptable, facts, given)
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
    proof: proofOf(adoptable, facts, given),
  }
}

type Refuse = AdoptionRefusal | undefined

function unchecked({ record }: Case, { fault }: AdoptionFacts): Refuse {
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

function adoptedByOther(adoptable: Adoptable, other: string | undefined): Refuse {
  if (other === undefined) return undefined
  const message = `VMDiskImage ${other} has adopted ${titleOf(adoptable)}: remove the annotation from one of them`
  return { reason: 'AdoptionInUse', message }
}

const OR_DOWNLOAD = `or remove annotation ${ANNOTATIONS.adopt} to have the image downloaded`

/** What is known of an object, in order of what people have to do first. */
function refusalOf(adoptable: Adoptable, facts: AdoptionFacts, given: Case): Refuse {
  const { object, claim, usedBy } = facts
  const title = titleOf(adoptable)
  if (object === undefined)
    return missing(`${title} does not exist in namespace ${given.world.image.metadata.namespace}`)
  if (object.isTerminating) return missing(`${title} is being deleted`)
  const owned = ownedBySomebody(adoptable, object) ?? claimOwned(adoptable, object, claim)
  if (owned !== undefined) return owned
  if (adoptable.kind === 'DataVolume' && object.phase !== 'Succeeded')
    return unfinished(`${title} is ${object.phase || 'new'}, not Succeeded`)
  if (adoptable.kind === 'VolumeSnapshot') {
    if (!object.isReady) return unfinished(`${title} is not readyToUse`)
  } else {
    const volume = adoptable.kind === 'DataVolume' ? claim : object
    const trouble = troubleOf(adoptable.name, volume)
    if (trouble !== undefined) return trouble
  }
  if (usedBy !== undefined)
    return {
      reason: 'AdoptionInUse',
      message: `${usedBy} uses ${title} as its disk, so that it does not stay as it is: adopt a copy of it, or remove it from there`,
    }
  return mismatch(adoptable, facts, given)
}

function missing(what: string): AdoptionRefusal {
  return { reason: 'AdoptionMissing', message: `${what}: name another one, ${OR_DOWNLOAD}` }
}

function unfinished(what: string): AdoptionRefusal {
  return { reason: 'AdoptionUnfinished', message: `${what}: it is adopted when it is finished; wait, ${OR_DOWNLOAD}` }
}

function troubleOf(name: string, claim: AdoptedObject | undefined): Refuse {
  const title = `PersistentVolumeClaim ${name}`
  if (claim === undefined) return missing(`${title}, the claim of that DataVolume, does not exist`)
  if (claim.isTerminating) return missing(`${title} is being deleted`)
  if (claim.phase === 'Lost') return missing(`${title} has lost its volume`)
  if (claim.phase !== 'Bound') return unfinished(`${title} is ${claim.phase || 'new'}, not Bound`)
  if (claim.filler !== undefined && claim.filler !== 'Succeeded')
    return unfinished(`a pod of CDI that fills ${title} is ${claim.filler}`)
  return undefined
}

/** Names who has it, and the step that releases it. */
function ownedBySomebody(adoptable: Adoptable, { controller, isLabelled }: Ownership, isNamed = true): Refuse {
  const title = titleOf(adoptable)
  if (isNamed && adoptable.kind === 'PersistentVolumeClaim' && controller?.startsWith('DataVolume ') === true)
    return {
      reason: 'AdoptionOwned',
      message: `${title} belongs to ${controller}: set annotation ${ANNOTATIONS.adopt} to datavolume/${adoptable.name}`,
    }
  if (controller !== undefined)
    return {
      reason: 'AdoptionOwned',
      message: `${title} is controlled by ${controller}, which may delete it: release it by removing its metadata.ownerReferences, as ot adopt shows, or with ot adopt --yes`,
    }
  if (!isLabelled) return undefined
  const message = `${title} has the label owner=${adoptable.name}, by which the older operator deletes it whoever owns it: remove that label, as ot adopt shows, or with ot adopt --yes`
  return { reason: 'AdoptionOwned', message }
}

function claimOwned({ kind, name }: Adoptable, { uid }: AdoptedObject, claim: AdoptedObject | undefined): Refuse {
  if (kind !== 'DataVolume' || claim === undefined) return undefined
  const isOfIt = claim.controllerUid === undefined || claim.controllerUid === uid
  const foreign = { ...claim, controller: isOfIt ? undefined : claim.controller }
  return ownedBySomebody({ kind: 'PersistentVolumeClaim', name }, foreign, false)
}

const GIB = 1024n ** 3n

/** Reports whether a volume may be of this disk size: the file system takes up to a tenth more, and drivers round up to whole GiB. */
function isLarger(size: string, diskSize: string, isExact: boolean): boolean {
  const [has, wanted] = [parseQuantity(size), parseQuantity(diskSize)]
  if (has === undefined || wanted === undefined) return false
  if (isExact) return has > wanted
  const most = (wanted * 11n) / 10n
  return has > ((most + GIB - 1n) / GIB) * GIB
}

function mismatch(adoptable: Adoptable, { object, claim }: AdoptionFacts, { target }: Case): Refuse {
  const title = titleOf(adoptable)
  const { size } = object ?? {}
  const isExact = adoptable.kind === 'DataVolume'
  if (size !== undefined && target.diskSize !== undefined && isLarger(size, target.diskSize, isExact))
    return {
      reason: 'AdoptionMismatch',
      message: `${title} has ${size}, which is larger than diskSize ${target.diskSize}: set spec.diskSize to ${size}`,
    }
  const storageClass = adoptable.kind === 'VolumeSnapshot' ? undefined : (claim ?? object)?.storageClass
  if (storageClass !== undefined && target.storageClass !== undefined && storageClass !== target.storageClass)
    return {
      reason: 'AdoptionMismatch',
      message: `${title} is of storage class ${storageClass}, not of ${target.storageClass}: set spec.storageClass to ${storageClass}`,
    }
  return undefined
}

/** The source of an image, as a DataVolume has it. */
function wantedSource({ sourceType, url, checksum }: Target): FilledFrom {
  return { sourceType, url: sourceType === 'blank' ? undefined : url, checksum }
}

type Compared = 'same' | 'unknown' | 'unproved' | 'differs'

function compared(facts: AdoptionFacts, target: Target): Compared {
  const from = facts.object?.filledFrom
  if (from?.sourceType === undefined) return 'unknown'
  const wanted = wantedSource(target)
  if (from.sourceType !== wanted.sourceType || from.url !== wanted.url) return 'differs'
  if (from.checksum === wanted.checksum || wanted.checksum === undefined) return 'same'
  return from.checksum === undefined ? 'unproved' : 'differs'
}

function sourceText({ sourceType, url, checksum }: FilledFrom): string {
  return redactUrls([sourceType, url, checksum].filter((one) => one !== undefined).join(' '))
}

function isAnySource({ image }: ImageWorld): boolean {
  return image.metadata.annotations?.[ANNOTATIONS.adoptSource] === 'any'
}

function sourceRefusal(adoptable: Adoptable, facts: AdoptionFacts, { world, target }: Case): Refuse {
  const from = facts.object?.filledFrom
  if (from === undefined || compared(facts, target) !== 'differs' || isAnySource(world)) return undefined
  const message = `${titleOf(adoptable)} was filled from ${sourceText(from)}, and the spec says ${sourceText(wantedSource(target))}: correct the spec, or set annotation ${ANNOTATIONS.adoptSource} to any if the disk is right`
  return { reason: 'SourceDiffers', message }
}

/** What is proved of what is adopted, and what is not. */
function proofOf(adoptable: Adoptable, facts: AdoptionFacts, { target }: Case): AdoptionRefusal {
  const { object } = facts
  const size = object?.size === undefined ? '' : `, ${object.size}`
  const state = { DataVolume: 'Succeeded', PersistentVolumeClaim: 'Bound', VolumeSnapshot: 'readyToUse' }[
    adoptable.kind
  ]
  const what = `${titleOf(adoptable)} is ${state}${size}`
  switch (compared(facts, target)) {
    case 'same': {
      const how = target.checksum === undefined ? '' : ' with its checksum'
      return { reason: 'SourceMatches', message: `${what}, and was filled from the source in the spec${how}` }
    }
    case 'unproved':
      return {
        reason: 'SourceUnknown',
        message: `${what}, and was filled from the source in the spec; nothing proves that it has the checksum in the spec`,
      }
    case 'differs':
      return {
        reason: 'SourceAccepted',
        message: `${what}, and was filled from another source than the spec says, which annotation ${ANNOTATIONS.adoptSource} allows`,
      }
    case 'unknown':
      return { reason: 'SourceUnknown', message: `${what}; nothing says which source it was filled from` }
  }
}
