import type { VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { isOrphaning } from '../../../cluster/dependents.ts'
import { isFilledByOthers } from '../../../cluster/views.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { type Removal, removalOf } from '../../../runtime/plan.ts'
import { reasonOf, withMore } from '../../../runtime/summary.ts'
import type { ClaimFacts, DiskFacts, MachineWorld } from '../world.ts'
import {
  adviceOnGuest,
  type DiskLoss,
  diskLoss,
  guestRuns,
  hasRun,
  isFilledByCDI,
  rebuildCommand,
  stillInVain,
} from './disk-loss.ts'
import { isRebuildAsked, seenRebuild } from './disk-requests.ts'
import { hasNoData, isMade, recordOf, titleOfDisk } from './further-disks.ts'
import { waitsOf } from './further-images.ts'
import { failed, type MachineDraft, type Step, waiting } from './machine-plan.ts'
import { wantedClaims } from './plan-children.ts'
import type { MachineSummary, Remark } from './status.ts'

/** In place of the uid of a claim that the guest had: somebody has asked for another one, which no guest has had yet. */
const TO_BE_MADE = 'none'

interface LostDisk extends Pick<DiskLoss, 'reason' | 'what'> {
  readonly disk: DiskFacts
  /** CDI has made another one in its place. */
  readonly isRemade?: true
}

/**
 * Returns the disks beside the root disk that a guest has had and that are lost, or about to be. A volume of people is not among them: the machine waits
 * for it. Nor is a CD-ROM, which has nothing of the guest: it is cloned again.
 */
export function lostDisks(world: MachineWorld): LostDisk[] {
  const { vm, disks, restoring, namespaceTerminating } = world
  // KubeVirt deletes the claims that it is about to replace.
  if (restoring !== undefined || isTerminating(vm) || namespaceTerminating) return []
  return disks.flatMap((disk) => {
    const { spec, claimName, ownClaim } = disk
    const isOfPeople = spec.volume !== undefined && claimName === ownClaim
    return isOfPeople || spec.readOnly === true || !isOfGuest(world, disk) ? [] : (lossOf(world, disk) ?? [])
  })
}

/** Returns what has happened to a disk that the guest has had; undefined if it is there. */
function lossOf(world: MachineWorld, disk: DiskFacts): LostDisk | undefined {
  const { claim, ofImage } = disk
  const which = `${titleOfDisk(disk)}${isMade(disk) ? '' : ' of a restore'}`
  const all = 'with all that the guest has written to it'
  if (claim === undefined) return { disk, reason: 'DiskLost', what: `${which}, is gone, ${all}` }
  const isCloneGoing = ofImage?.clone !== undefined && isTerminating(ofImage.clone) && !isOrphaning(ofImage.clone)
  if (isTerminating(claim) || (isCloneGoing && isMade(disk)))
    return { disk, reason: 'DiskBeingDeleted', what: `${which}, is being deleted` }
  if (claim.phase === 'Lost')
    return { disk, reason: 'DiskLost', what: `${which}, has lost its volume (the claim is Lost), ${all}` }
  if (!isRemade(world, disk, claim)) return undefined
  const what = `${which}, was deleted ${all}, and CDI has made another one from the image`
  return { disk, reason: 'DiskLost', what, isRemade: true }
}

/** Reports whether a guest has had the disk. The claim is made before KubeVirt's machine names it, and that of a clone is empty until CDI has filled it. */
function isOfGuest(world: MachineWorld, disk: DiskFacts): boolean {
  const { claim, claimName, given, ofImage } = disk
  const { claimUID } = recordOf(world, disk) ?? {}
  if (claimUID !== undefined) return claimUID !== TO_BE_MADE
  const { clone } = ofImage ?? {}
  // KubeVirt's machine is given a clone as soon as its claim is there. If both are gone, nothing says that it was ever complete.
  const isFilled =
    ofImage === undefined || (clone === undefined ? claim !== undefined || !isMade(disk) : clone.phase === 'Succeeded')
  return isFilled && given?.claimName === claimName && hasRun(world)
}

/** CDI makes a claim again that somebody has deleted without its DataVolume. */
function isRemade(world: MachineWorld, disk: DiskFacts, claim: ClaimFacts): boolean {
  const { claim: recorded, claimUID } = recordOf(world, disk) ?? {}
  const { clone } = disk.ofImage ?? {}
  const isOther = claimUID !== undefined && recorded === disk.claimName && claim.metadata.uid !== claimUID
  return isOther && clone !== undefined && isFilledByCDI(clone, claim)
}

/** Reports whether somebody has asked for new disks, and nothing of the old ones can be saved any more. */
function isAnswered(world: MachineWorld, lost: readonly LostDisk[]): boolean {
  if (!isRebuildAsked(world) || lost.some(({ reason }) => reason !== 'DiskLost')) return false
  const others = lost.filter(isToBeMade)
  return others.length === 0 || (!guestRuns(world) && imagesFor(lost) === undefined)
}

/** One that CDI has made again may have data by now: it is used as it is. */
function isToBeMade({ isRemade: isOther }: LostDisk): boolean {
  return isOther !== true
}

/** Nothing is removed for disks that could not be made. */
function imagesFor(lost: readonly LostDisk[]) {
  return waitsOf(lost.filter((one) => isToBeMade(one) && one.disk.ofImage !== undefined).map(({ disk }) => disk))
}

/**
 * Plans new disks for those that are lost, once somebody has asked for them: what is left of the old ones goes first. One that CDI has made again is
 * used from then on.
 */
export function planNewDisks({ world }: Pick<MachineDraft, 'world'>): Step | undefined {
  const lost = lostDisks(world)
  if (lost.length === 0 || !isAnswered(world, lost)) return undefined
  const { machine } = world
  const others = lost.filter(isToBeMade)
  if (others.length === 0) {
    const which = lost.map(({ disk }) => disk.spec.name).join(', ')
    const message = `disk ${which}, as CDI has made it from the image, is used, as somebody asked for it`
    return { summary: waiting('Cloning', message), status: { ...recordsWithout(world, lost), ...answered(world) } }
  }
  const names = others.map(({ disk }) => disk.spec.name)
  const how = others.some(({ disk }) => disk.ofImage !== undefined) ? '' : ', empty'
  const summary = waiting('DiskMissing', `disk ${names.join(', ')} is made again${how}, as somebody asked for it`)
  const onlyIf = goneAsSeen(world, others)
  // KubeVirt's machine still names the claim of a restore, or one that CDI has yet to make. Made again, it gets the disk that the spec says.
  if (machine !== undefined && others.some(({ disk }) => !isMade(disk) || disk.ofImage !== undefined))
    return { summary, remove: removalOf(machine), onlyIf }
  const volumeless = others.flatMap(({ disk }) => (isMade(disk) ? removalOf(disk.ofImage?.clone ?? disk.claim) : []))
  if (volumeless.length > 0) return { summary, remove: volumeless, onlyIf }
  return { summary, onlyIf, apply: wantedClaims(world), status: { ...recordsWithout(world, lost), ...answered(world) } }
}

/** The request was about these disks. It is none for the root disk, unless that is lost, too. */
function answered(world: MachineWorld): Pick<VirtualMachineStatus, 'rebuildRequest' | 'earlierRebuilds'> {
  return diskLoss(world) === undefined ? seenRebuild(world) : {}
}

/**
 * Returns the records of disks without the lost ones. Of one that CDI has made again, only the claim that the guest had is forgotten. Of an empty one it is
 * recorded that it is to be made: the process may die before it is, and the request is over.
 */
function recordsWithout({ vm }: MachineWorld, lost: readonly LostDisk[]): Pick<VirtualMachineStatus, 'disks'> {
  const disks = vm.status.disks?.flatMap((record) => {
    const one = lost.find(({ disk }) => disk.spec.name === record.name)
    if (one === undefined) return record
    if (!isToBeMade(one)) return withoutUndefined({ ...record, claimUID: undefined })
    const isEmpty = one.disk.ofImage === undefined && one.disk.spec.volume === undefined && isMade(one.disk)
    return isEmpty ? { ...record, claimUID: TO_BE_MADE } : []
  })
  return { disks: disks?.length === 0 ? undefined : disks }
}

/** A cache may miss a claim for a moment. */
function goneAsSeen({ vm }: MachineWorld, lost: readonly LostDisk[]) {
  const { namespace = '' } = vm.metadata
  const gone = lost.filter(({ disk }) => disk.claim === undefined)
  const absent = gone.map(({ disk }) => ({ type: PERSISTENT_VOLUME_CLAIM, namespace, name: disk.claimName }))
  return absent.length === 0 ? [] : [{ absent, whose: "anybody's" as const }]
}

/**
 * Plans a machine that has lost a disk beside its root disk: nothing is made or changed until somebody asks for it.
 * @param blocked what else blocks the machine
 */
export function planLostDisks(
  { world }: Pick<MachineDraft, 'world'>,
  blocked: MachineSummary | undefined,
): Step | undefined {
  const lost = lostDisks(world)
  const [first] = lost
  if (first === undefined) return undefined
  const { reason } = worstOf(lost, first)
  const stands = failed(reason, textOn(world, lost))
  const also = blocked ?? (isRebuildAsked(world) ? imagesFor(lost)?.summary : undefined)
  const summary = also === undefined ? stands : withMore(stands, `; ${also.message}`)
  const isNews = reasonOf(world.vm.status) !== reason
  const remove = lost.flatMap((one) => cloneInVain(world, one))
  return { summary, ...(remove.length > 0 && { remove }), ...(isNews && { onlyIf: goneAsSeen(world, lost) }) }
}

/**
 * CDI would make another disk in the place of the claim, and KubeVirt would start the guest from it. One that it has made already is left as soon as a guest
 * may have run from it.
 */
function cloneInVain(world: MachineWorld, { disk, isRemade: isOther }: LostDisk): Removal[] {
  const { claim, ofImage } = disk
  const isUnused = isOther === true && hasNoData(claim) && world.instance === undefined
  const isNeeded = claim !== undefined && !isTerminating(claim) && !isUnused
  if (ofImage?.clone === undefined || !isMade(disk) || isNeeded || isFilledByOthers(ofImage.clone)) return []
  return removalOf(ofImage.clone, ...stillInVain(world, disk.claimName, claim))
}

function textOn(world: MachineWorld, lost: readonly LostDisk[]): string {
  const rebuild = rebuildCommand(world)
  return lost
    .map((one) => {
      if (one.isRemade) {
        const runs = guestRuns(world) ? ': the guest runs from the new one' : ''
        return `${one.what}${runs}; to go on with the new one: ${rebuild}`
      }
      const made = one.disk.ofImage === undefined ? 'an empty one made' : 'one cloned from its image'
      const advice = `no new disk is made by itself; if nothing of it can be saved, have ${made} by: ${rebuild}`
      return `${one.what}${adviceOnGuest(world, one, advice)}`
    })
    .join('; ')
}

/** Returns what to tell as long as disks are lost and nobody has asked for others, whatever else the machine waits for. */
export function remarksOnLostDisks(world: MachineWorld): Remark[] {
  const lost = lostDisks(world)
  const [first] = lost
  if (first === undefined || isAnswered(world, lost)) return []
  return [{ type: 'DiskLost', reason: worstOf(lost, first).reason, message: textOn(world, lost) }]
}

/** One that is gone comes before one that is going. */
function worstOf(lost: readonly LostDisk[], first: LostDisk): LostDisk {
  return lost.find(({ reason }) => reason === 'DiskLost') ?? first
}
