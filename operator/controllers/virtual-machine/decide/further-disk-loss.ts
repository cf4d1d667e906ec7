import { isTerminating } from '../../../kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { reasonOf, withMore } from '../../../runtime/standing.ts'
import type { DiskFacts, MachineWorld } from '../world.ts'
import { adviceOnGuest, type DiskLoss, guestRuns, hasRun, isRebuildAsked, rebuildCommand } from './disk-loss.ts'
import { isMade, recordOf, titleOfDisk } from './further-disks.ts'
import { failed, type MachineDraft, type Step, waiting } from './machine-plan.ts'
import { wantedClaims } from './plan-children.ts'
import type { MachineStanding, Remark } from './status.ts'

interface LostDisk extends Pick<DiskLoss, 'reason' | 'what'> {
  readonly disk: DiskFacts
}

/**
 * Returns the disks beside the root disk that a guest has had and that are lost, or about to be. A volume of people is not among them: the machine waits
 * for it.
 */
export function lostDisks(world: MachineWorld): LostDisk[] {
  const { vm, disks, restoring, namespaceTerminating } = world
  // KubeVirt deletes the claims that it is about to replace.
  if (restoring !== undefined || isTerminating(vm) || namespaceTerminating) return []
  return disks.flatMap((disk): LostDisk[] => {
    const { spec, claim, claimName, ownClaim, given } = disk
    const isOfPeople = spec.volume !== undefined && claimName === ownClaim
    // The claim is made before KubeVirt's machine names it.
    const isUsed = recordOf(world, disk)?.claimUID !== undefined || (given?.claimName === claimName && hasRun(world))
    if (isOfPeople || !isUsed) return []
    const which = `${titleOfDisk(disk)}${isMade(disk) ? '' : ' of a restore'}`
    const all = 'with all that the guest has written to it'
    if (claim === undefined) return [{ disk, reason: 'DiskLost', what: `${which}, is gone, ${all}` }]
    if (isTerminating(claim)) return [{ disk, reason: 'DiskBeingDeleted', what: `${which}, is being deleted` }]
    if (claim.phase !== 'Lost') return []
    return [{ disk, reason: 'DiskLost', what: `${which}, has lost its volume (the claim is Lost), ${all}` }]
  })
}

/** Reports whether somebody has asked for new disks, and nothing of the old ones can be saved any more. */
function isAnswered(world: MachineWorld, lost: readonly LostDisk[]): boolean {
  return isRebuildAsked(world) && !guestRuns(world) && lost.every(({ reason }) => reason === 'DiskLost')
}

/** Plans new disks for those that are lost, once somebody has asked for them: what is left of the old ones goes first. */
export function planNewDisks({ world }: Pick<MachineDraft, 'world'>): Step | undefined {
  const lost = lostDisks(world)
  if (lost.length === 0 || !isAnswered(world, lost)) return undefined
  const { vm, machine } = world
  const names = lost.map(({ disk }) => disk.spec.name)
  const standing = waiting('DiskMissing', `disk ${names.join(', ')} is made again, empty, as somebody asked for it`)
  const onlyIf = goneAsSeen(world, lost)
  // KubeVirt's machine still names the claim of a restore. Made again, it gets the disk that the spec says.
  if (machine !== undefined && lost.some(({ disk }) => !isMade(disk)))
    return { standing, remove: removalOf(machine), onlyIf }
  const volumeless = lost.flatMap(({ disk }) => (isMade(disk) ? removalOf(disk.claim) : []))
  if (volumeless.length > 0) return { standing, remove: volumeless }
  const disks = vm.status.disks?.filter(({ name }) => !names.includes(name))
  const apply = wantedClaims(world)
  return { standing, onlyIf, apply, status: { disks: disks?.length === 0 ? undefined : disks } }
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
  blocked: MachineStanding | undefined,
): Step | undefined {
  const lost = lostDisks(world)
  const [first] = lost
  if (first === undefined) return undefined
  const worst = lost.find(({ reason }) => reason === 'DiskLost') ?? first
  const stands = failed(worst.reason, textOn(world, lost))
  const standing = blocked === undefined ? stands : withMore(stands, `; ${blocked.message}`)
  const isNews = reasonOf(world.vm.status) !== worst.reason
  return { standing, ...(isNews && { onlyIf: goneAsSeen(world, lost) }) }
}

function textOn(world: MachineWorld, lost: readonly LostDisk[]): string {
  const advice = `no new disk is made by itself; if nothing of it can be saved, have an empty one made by: ${rebuildCommand(world)}`
  return lost.map((one) => `${one.what}${adviceOnGuest(world, one, advice)}`).join('; ')
}

/** Returns what to tell as long as disks are lost and nobody has asked for others, whatever else the machine waits for. */
export function remarksOnLostDisks(world: MachineWorld): Remark[] {
  const lost = lostDisks(world)
  const [first] = lost
  if (first === undefined || isAnswered(world, lost)) return []
  return [{ type: 'DiskLost', reason: first.reason, message: textOn(world, lost) }]
}
