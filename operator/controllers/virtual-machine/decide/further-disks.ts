import { ANNOTATIONS } from '@open-terrain/constructs'
import type { GuestDataDisk, VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { isSameValue } from '../../../images/decide/image-meaning.ts'
import { isTerminating, type KubeObject, keyOf, namespaceOf } from '../../../kube/kube-object.ts'
import type { ClaimFacts, CloneFacts, DiskFacts, DiskImage, MachineWorld } from '../world.ts'
import { summaryOfDisk } from './judge.ts'
import { hasBooted } from './machine-plan.ts'

type Record = NonNullable<VirtualMachineStatus['disks']>[number]
/** A sentence about disks, with its reason. */
interface DiskWarning {
  readonly reason: 'DiskMissing' | 'DiskKept' | 'DiskSizeKept' | 'DiskImageKept'
  readonly message: string
}

/** What KubeVirt's machine is to have. */
interface GuestDisks {
  readonly disks: readonly GuestDataDisk[]
  /** Which of its volumes are ours; undefined if none ever was. */
  readonly disksNote: string | undefined
}

/** Reports whether the operator makes the claim. Those of volumes are of people, and those of a restore are of KubeVirt. */
export function isMade({ spec, claimName, ownClaim }: DiskFacts): boolean {
  return spec.volume === undefined && claimName === ownClaim
}

/** Reports whether its DataVolume is to be made: CDI then makes the claim. A claim that is there without one is used as it is. */
export function isToBeCloned(disk: DiskFacts): boolean {
  return isMade(disk) && disk.ofImage !== undefined && disk.ofImage.clone === undefined && disk.claim === undefined
}

/** Returns a disk that CDI has not completed; undefined if there is none. */
export function unfinishedDisk({ disks }: Pick<MachineWorld, 'disks'>): CloningDisk | undefined {
  return disks.find((disk): disk is CloningDisk => {
    const { clone } = disk.ofImage ?? {}
    return clone !== undefined && clone.phase !== 'Succeeded' && isMade(disk)
  })
}

/** A disk with its DataVolume. */
export type CloningDisk = DiskFacts & { readonly ofImage: { readonly clone: CloneFacts } }

export function titleOfDisk({ spec, claimName }: DiskFacts): string {
  return `disk ${spec.name}, PersistentVolumeClaim ${claimName}`
}

/** Returns what the status knows of a disk that has the same source as now. Of an image, the name is the source: its namespace may have changed. */
export function recordOf({ vm }: Pick<MachineWorld, 'vm'>, { spec }: Pick<DiskFacts, 'spec'>): Record | undefined {
  return vm.status.disks?.find(
    ({ name, volume, image }) =>
      name === spec.name && volume === spec.volume && nameIn(image) === spec.vmDiskImageRef?.name,
  )
}

function nameIn(key: string | undefined): string | undefined {
  return key?.slice(key.indexOf('/') + 1)
}

/** Returns `<namespace>/<name>` of the image that a disk is a clone of, which may be in another namespace than the spec says now. */
function madeFrom(world: Pick<MachineWorld, 'vm'>, disk: DiskFacts): string | undefined {
  const { clone, key } = disk.ofImage ?? {}
  // An image and what is cloned from it are in the same namespace.
  const namespace = clone?.cloneOf?.namespace
  if (key === undefined || namespace === undefined) return key && (recordOf(world, disk)?.image ?? key)
  return keyOf({ namespace, name: nameIn(key) ?? '' })
}

/** Reports whether its DataVolume is a clone of the image of that name in another namespace than that of the spec. */
export function isOfOtherNamespace({ ofImage }: DiskFacts): boolean {
  const namespace = ofImage?.clone?.cloneOf?.namespace
  return ofImage !== undefined && namespace !== undefined && namespace !== namespaceOf(ofImage.key)
}

/** Reports whether nothing is on it: a claim that is bound may have been filled. */
export function hasNoData(claim: ClaimFacts | undefined): boolean {
  return claim === undefined || claim.phase === 'Pending'
}

/** Reports whether a clone is not complete, and nothing is lost with it. One that CDI has not looked at yet may have been filled in another life of the cluster. */
export function isInVain(clone: CloneFacts, claim: ClaimFacts | undefined): boolean {
  const isUntouched = claim === undefined || (clone.phase !== '' && clone.phase !== 'Unknown')
  return clone.phase !== 'Succeeded' && hasNoData(claim) && isUntouched
}

/**
 * Returns the disks that KubeVirt's machine is to have. One whose claim is not there yet is left out, since the machine would not start, unless it is made
 * together with the machine. One that the machine has already stays.
 */
export function guestDisks({ disks, machine }: Pick<MachineWorld, 'disks' | 'machine'>): GuestDisks {
  const found = disks.flatMap((disk) => {
    const { spec, claim, claimName, ownClaim, given } = disk
    const isThere = claim !== undefined || (isMade(disk) && disk.ofImage === undefined)
    // With another image, it is another disk.
    const kept = disk.ofImage === undefined || given?.ownClaim === ownClaim ? given : undefined
    const place = isThere ? { claimName, ownClaim } : kept
    return place === undefined ? [] : [{ name: spec.name, bus: spec.bus, readOnly: spec.readOnly, ...place }]
  })
  const isNoted = found.length > 0 || machine?.metadata.annotations?.[ANNOTATIONS.disks] !== undefined
  return {
    disks: found.map(({ name, bus, readOnly, claimName: claim }) => ({ name, bus, readOnly, claim })),
    disksNote: isNoted ? found.map(({ name, ownClaim }) => `${name}=${ownClaim}`).join(',') : undefined,
  }
}

/** Returns a disk whose claim is another disk of the machine as well; undefined if there is none. */
export function sharedDisk({ rootName, disks }: Pick<MachineWorld, 'rootName' | 'disks'>): DiskFacts | undefined {
  const names = [rootName, ...disks.map(({ claimName }) => claimName)]
  return disks.find(({ claimName }) => names.indexOf(claimName) !== names.lastIndexOf(claimName))
}

/** Returns which disks the machine waits for; undefined if it has all of them, or gets them now. */
export function missingDisks({ vm, disks }: Pick<MachineWorld, 'vm' | 'disks'>): string | undefined {
  const missing = disks.flatMap((disk) => {
    const why = whyMissing({ vm }, disk)
    return why === undefined ? [] : { text: `${titleOfDisk(disk)}, ${why}`, isBeingCloned: isBeingCloned(disk) }
  })
  if (missing.length === 0) return undefined
  const texts = missing.map(({ text }) => text).join('; ')
  return missing.every((one) => one.isBeingCloned) ? texts : `${texts}: create what is missing, or correct spec.disks`
}

function whyMissing({ vm }: Pick<MachineWorld, 'vm'>, disk: DiskFacts): string | undefined {
  const { claim, ofImage } = disk
  if (isTerminating(claim)) return 'is being deleted'
  if (claim?.phase === 'Lost') return 'has no volume any more (the claim is Lost)'
  if (claim !== undefined) return undefined
  if (ofImage !== undefined) return whyNotCloned(ofImage)
  return isMade(disk) ? undefined : `does not exist in namespace ${vm.metadata.namespace}`
}

/** Reports whether CDI makes the claim, or is about to: people have nothing to create. */
function isBeingCloned({ claim, ofImage }: DiskFacts): boolean {
  if (claim !== undefined || ofImage === undefined) return false
  return ofImage.clone !== undefined || (ofImage.image?.status.artifact !== undefined && ofImage.hasCloneSource)
}

/** Returns why a clone does not get further by itself, or has to be made again, with what to do; undefined if nothing is known to keep it. */
function troubleWith({ vm }: Pick<MachineWorld, 'vm'>, disk: DiskFacts): string | undefined {
  const { spec, ofImage, claim } = disk
  const { clone, hasCloneSource } = ofImage ?? {}
  if (clone === undefined || clone.phase === 'Succeeded' || isTerminating(clone) || !isMade(disk)) return undefined
  const which = `disk ${spec.name}`
  const { reason, message } = summaryOfDisk(clone, undefined, which)
  if (reason === 'CloneFailed') return clone.phase === 'Failed' ? `${which}: ${message}` : message
  if (hasCloneSource) return undefined
  const what = `what ${which} is being cloned from is gone`
  const next = isInVain(clone, claim)
    ? 'it is cloned again'
    : `to have it cloned again: kubectl -n ${vm.metadata.namespace} delete dv ${clone.metadata.name}`
  return `${what}: ${next}`
}

/** The image itself shows how far it is. */
function whyNotCloned({ key, image, clone, hasCloneSource }: DiskImage): string {
  if (clone !== undefined) return `is being made by DataVolume ${clone.metadata.name}`
  const waits = (why: string) => `is cloned when VMDiskImage ${key} can be: ${why}`
  if (image === undefined) return waits('it does not exist')
  if (isTerminating(image)) return waits('it is being deleted')
  if (image.status.artifact === undefined) return waits(`it is ${image.status.phase ?? 'new'}`)
  return hasCloneSource ? `is cloned from VMDiskImage ${key}` : waits('its artifact does not exist')
}

/** Returns what to record about the disks: which claims the guest has had, and what they were made for. */
export function diskRecords(world: MachineWorld): Pick<VirtualMachineStatus, 'disks'> {
  const isOn = hasBooted(world)
  // One whose image is awaited is not there yet.
  const there = world.disks.filter(({ ofImage, claim }) => !ofImage || (ofImage.clone ?? claim) !== undefined)
  const disks = there.map((disk): Record => {
    const { spec, claim, claimName, given, ofImage } = disk
    const known = recordOf(world, disk)
    // Nothing of the guest is on a CD-ROM.
    const isFilled = ofImage?.clone === undefined || ofImage.clone.phase === 'Succeeded'
    const isOfGuest = isOn && isFilled && spec.readOnly !== true
    const isUsed = isOfGuest && claim !== undefined && given?.claimName === claimName
    const isKept = known !== undefined && (ofImage !== undefined || known.size !== undefined)
    return withoutUndefined({
      name: spec.name,
      claim: claimName,
      volume: spec.volume,
      image: madeFrom(world, disk),
      size: isKept ? known.size : spec.size,
      claimUID: isUsed ? claim.metadata.uid : known?.claimUID,
    }) as Record
  })
  return { disks: disks.length === 0 ? undefined : disks }
}

/** Returns what people should know about the disks of a machine that is deployed. */
export function warningsOnDisks(world: MachineWorld): DiskWarning[] {
  const { disks, machine } = world
  const missing = machine === undefined ? undefined : missingDisks(world)
  const troubles = machine === undefined ? [] : disks.flatMap((disk) => troubleWith(world, disk) ?? [])
  const messages = [...(missing === undefined ? [] : [missing]), ...troubles]
  return [
    ...messages.map((message): DiskWarning => ({ reason: 'DiskMissing', message })),
    ...keptDisks(world),
    ...disks.flatMap((disk) => [...warningOnSize(world, disk), ...warningOnImage(world, disk)]),
  ]
}

function keptDisks({ vm, disks, diskClaims, diskClones, strayClones }: MachineWorld): DiskWarning[] {
  const used = new Set(disks.map(({ claimName }) => claimName))
  const isKept = (one: KubeObject) => !used.has(one.metadata.name) && !isTerminating(one)
  const filled = strayClones.filter(({ clone, claim }) => !isInVain(clone, claim)).map(({ clone }) => clone)
  const clones = diskClones.filter((clone) => clone.phase === 'Succeeded' || filled.includes(clone))
  return [diskClaims, clones].flatMap((objects): DiskWarning[] => {
    const names = objects.filter(isKept).map(({ metadata }) => metadata.name)
    if (names.length === 0) return []
    const type = objects === diskClaims ? 'pvc' : 'dv'
    const message = `spec.disks does not use PersistentVolumeClaim ${names.join(', ')} any more: it stays with its data until the virtual machine is deleted; if nobody needs it: kubectl -n ${vm.metadata.namespace} delete ${type} ${names.join(' ')}`
    return [{ reason: 'DiskKept', message }]
  })
}

function warningOnSize(world: MachineWorld, disk: DiskFacts): DiskWarning[] {
  const { spec, ofImage, claim } = disk
  const record = recordOf(world, disk)
  const isMadeOfImage = ofImage !== undefined && record !== undefined && (ofImage.clone ?? claim) !== undefined
  if ((record?.size === undefined && !isMadeOfImage) || isSameValue(record?.size, spec.size)) return []
  const has = record?.size ?? 'its image'
  const asks = spec.size ?? 'that of its image'
  const message = `${titleOfDisk(disk)}, keeps the size of ${has} that it was made with, although spec.disks asks for ${asks}: undo the change, or add a disk with another name`
  return [{ reason: 'DiskSizeKept', message }]
}

/** The policy of a lab, or the spec, names another namespace: the guest keeps its disk, as it keeps its root disk. */
function warningOnImage(world: MachineWorld, disk: DiskFacts): DiskWarning[] {
  const { ofImage, claim } = disk
  const from = madeFrom(world, disk)
  if (ofImage === undefined || hasNoData(claim) || from === ofImage.key) return []
  const message = `${titleOfDisk(disk)}, keeps what was cloned from VMDiskImage ${from}, although it is to be a clone of ${ofImage.key}: undo the change of the namespace, or add a disk with another name`
  return [{ reason: 'DiskImageKept', message }]
}
