import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type Adoptable,
  parseQuantity,
  type Reason,
  type VM_DISK_IMAGE_CONDITION_RULES,
} from '@open-terrain/constructs/operator'
import { redactUrls } from '../../../base/messages.ts'
import type { SayingOf } from '../../../runtime/conditions.ts'
import type { AdoptedObject, AdoptionFacts, FilledFrom, Ownership } from '../adoption-facts.ts'
import type { Target } from './target.ts'

/** Whether what the annotation names was adopted, and what is proved of it. */
export type SayingOnAdoption = SayingOf<typeof VM_DISK_IMAGE_CONDITION_RULES.Adopted, Reason>

export interface AdoptionRefusal {
  readonly reason: SayingOnAdoption['reason']
  /** One sentence: what is wrong, and what to do. */
  readonly message: string
}

type Refuse = AdoptionRefusal | undefined

/** What an image wants, as far as an adopted disk can differ from it. */
export type AdoptionTarget = Pick<Target, 'sourceType' | 'url' | 'checksum' | 'diskSize' | 'storageClass'>

/** On what terms something is adopted. */
export interface AdoptionTerms {
  /** Of the image. */
  readonly namespace: string
  readonly target: AdoptionTarget
  /** Whether people accept a disk that was filled from another source. */
  readonly isAnySource: boolean
}

export function adoptableTitle({ kind, name }: Pick<Adoptable, 'name'> & { readonly kind: string }): string {
  return `${kind} ${name}`
}

/** Returns why an object cannot be adopted as it is, and what is proved of it if it can. */
export function judgeAdoptable(
  adoptable: Adoptable,
  facts: AdoptionFacts,
  terms: AdoptionTerms,
): { readonly refusal: AdoptionRefusal | undefined; readonly proof: AdoptionRefusal } {
  const refusal = refusalOf(adoptable, facts, terms) ?? sourceRefusal(adoptable, facts, terms)
  return { refusal, proof: proofOf(adoptable, facts, terms) }
}

const OR_DOWNLOAD = `or remove annotation ${ANNOTATIONS.adopt} to have the image downloaded`

/** What is known of an object, in order of what people have to do first. */
function refusalOf(adoptable: Adoptable, facts: AdoptionFacts, terms: AdoptionTerms): Refuse {
  const { object, claim, usedBy } = facts
  const { namespace } = terms
  const title = adoptableTitle(adoptable)
  if (object === undefined) return missing(`${title} does not exist in namespace ${namespace}`)
  if (object.isTerminating) return missing(`${title} is being deleted`)
  const owned = ownedRefusal(adoptable, facts)
  if (owned !== undefined) return owned
  const files = archived(adoptable, object, claim)
  if (files !== undefined) return files
  const incomplete = incompleteIn(adoptable, object, claim)
  if (incomplete !== undefined) return incomplete
  if (usedBy !== undefined)
    return {
      reason: 'AdoptionInUse',
      message: `${usedBy} uses ${title} as its disk, so that it does not stay as it is: adopt a copy of it, or remove it from there`,
    }
  return mismatch(adoptable, facts, terms)
}

function incompleteIn({ kind, name }: Adoptable, object: AdoptedObject, claim: AdoptedObject | undefined): Refuse {
  const title = adoptableTitle({ kind, name })
  switch (kind) {
    case 'DataVolume': {
      const { phase } = object
      return phase === 'Succeeded' ? troubleOf(name, claim) : unfinished(`${title} is ${phase || 'new'}, not Succeeded`)
    }
    case 'PersistentVolumeClaim':
      return troubleOf(name, object)
    case 'VolumeSnapshot':
      return object.isReady ? undefined : unfinished(`${title} is not readyToUse`)
  }
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
function ownedBySomebody(adoptable: Adoptable, { owners, labels }: Ownership, isNamed = true): Refuse {
  const { kind, name } = adoptable
  const title = adoptableTitle(adoptable)
  const [owner] = owners
  const reason = 'AdoptionOwned'
  if (isNamed && kind === 'PersistentVolumeClaim' && owner?.title.startsWith('DataVolume ') === true) {
    const message = `${title} belongs to ${owner.title}: set annotation ${ANNOTATIONS.adopt} to datavolume/${name}`
    return { reason, message }
  }
  // It looks at DataVolumes, and at their claims.
  const how = isNamed && kind !== 'DataVolume' ? '' : ', as ot adopt shows'
  if (owner !== undefined) {
    const who = owners.map((one) => one.title).join(', ')
    const message = `${title} is owned by ${who}, with which it may be deleted: release it by removing its metadata.ownerReferences${how}`
    return { reason, message }
  }
  if (labels.length === 0) return undefined
  const message = `${title} has the label ${labels.join(', ')}, by which another controller deletes it whoever owns it: remove that label${how}`
  return { reason, message }
}

function claimOwned({ kind, name }: Adoptable, { uid }: AdoptedObject, claim: AdoptedObject | undefined): Refuse {
  if (kind !== 'DataVolume' || claim === undefined) return undefined
  const foreign = { ...claim, owners: claim.owners.filter((owner) => owner.uid !== uid) }
  return ownedBySomebody({ kind: 'PersistentVolumeClaim', name }, foreign, false)
}

/** Returns who else has an object, or the claim of a DataVolume; undefined: nobody. */
export function ownedRefusal(
  adoptable: Adoptable,
  { object, claim }: Pick<AdoptionFacts, 'object' | 'claim'>,
): AdoptionRefusal | undefined {
  return object && (ownedBySomebody(adoptable, object) ?? claimOwned(adoptable, object, claim))
}

function archived(adoptable: Adoptable, object: AdoptedObject, claim: AdoptedObject | undefined): Refuse {
  if (object.contentType !== 'archive' && claim?.contentType !== 'archive') return undefined
  const message = `${adoptableTitle(adoptable)} has contentType archive, so that it has files and no disk: name another one, ${OR_DOWNLOAD}`
  return { reason: 'AdoptionMismatch', message }
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

function mismatch(adoptable: Adoptable, { object, claim }: AdoptionFacts, { target }: AdoptionTerms): Refuse {
  const title = adoptableTitle(adoptable)
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
function wantedSource({ sourceType, url, checksum }: AdoptionTarget): FilledFrom {
  return { sourceType, url: sourceType === 'blank' ? undefined : url, checksum }
}

type Compared = 'same' | 'unknown' | 'unproved' | 'differs'

function compared(facts: AdoptionFacts, target: AdoptionTarget): Compared {
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

function sourceRefusal(adoptable: Adoptable, facts: AdoptionFacts, { isAnySource, target }: AdoptionTerms): Refuse {
  const from = facts.object?.filledFrom
  if (from === undefined || compared(facts, target) !== 'differs' || isAnySource) return undefined
  const message = `${adoptableTitle(adoptable)} was filled from ${sourceText(from)}, and the spec says ${sourceText(wantedSource(target))}: correct the spec, or set annotation ${ANNOTATIONS.adoptSource} to any if the disk is right`
  return { reason: 'SourceDiffers', message }
}

/** What is proved of what is adopted, and what is not. */
function proofOf(adoptable: Adoptable, facts: AdoptionFacts, { target }: AdoptionTerms): AdoptionRefusal {
  const { object } = facts
  const size = object?.size === undefined ? '' : `, ${object.size}`
  const state = { DataVolume: 'Succeeded', PersistentVolumeClaim: 'Bound', VolumeSnapshot: 'readyToUse' }[
    adoptable.kind
  ]
  const what = `${adoptableTitle(adoptable)} is ${state}${size}`
  switch (compared(facts, target)) {
    case 'same': {
      if (target.sourceType === 'blank')
        return { reason: 'SourceMatches', message: `${what}, and was made blank, as the spec says` }
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
