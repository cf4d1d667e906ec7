import { ANNOTATIONS, type GuestDataDisk, type VirtualMachineStatus, vmChildNames } from '@open-terrain/constructs'
import { isSameValue } from '../../../images/decide/image-meaning.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { withoutUndefined } from '../../../runtime/conditions.ts'
import type { DiskFacts, MachineWorld } from '../world.ts'
import { hasBooted } from './machine-plan.ts'

type Record = NonNullable<VirtualMachineStatus['disks']>[number]
/** A sentence about disks, with its reason. */
interface DiskWarning {
  readonly reason: 'DiskMissing' | 'DiskKept' | 'DiskSizeKept'
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

export function titleOfDisk({ spec, claimName }: DiskFacts): string {
  return `disk ${spec.name}, PersistentVolumeClaim ${claimName}`
}

/** Returns what the status knows of a disk that has the same source as now. */
export function recordOf({ vm }: Pick<MachineWorld, 'vm'>, { spec }: DiskFacts): Record | undefined {
  return vm.status.disks?.find(({ name, volume }) => name === spec.name && volume === spec.volume)
}

/**
 * Returns the disks that KubeVirt's machine is to have. One whose claim is not there yet is left out, since the machine would not start. One that the
 * machine has already stays.
 */
export function guestDisks({ disks, machine }: Pick<MachineWorld, 'disks' | 'machine'>): GuestDisks {
  const found = disks.flatMap((disk) => {
    const { spec, claim, claimName, ownClaim, given } = disk
    const place = claim !== undefined || isMade(disk) ? { claimName, ownClaim } : given
    return place === undefined ? [] : [{ name: spec.name, bus: spec.bus, ...place }]
  })
  const isNoted = found.length > 0 || machine?.metadata.annotations?.[ANNOTATIONS.disks] !== undefined
  return {
    disks: found.map(({ name, bus, claimName: claim }) => ({ name, bus, claim })),
    disksNote: isNoted ? found.map(({ name, ownClaim }) => `${name}=${ownClaim}`).join(',') : undefined,
  }
}

/** Returns a disk whose claim is another disk of the machine as well; undefined if there is none. */
export function sharedDisk({ vm, disks }: Pick<MachineWorld, 'vm' | 'disks'>): DiskFacts | undefined {
  const names = [vmChildNames(vm.metadata.name).clone, ...disks.map(({ claimName }) => claimName)]
  return disks.find(({ claimName }) => names.indexOf(claimName) !== names.lastIndexOf(claimName))
}

/** Returns which disks the machine waits for; undefined if it has all of them, or gets them now. */
export function missingDisks({ vm, disks }: Pick<MachineWorld, 'vm' | 'disks'>): string | undefined {
  const texts = disks.flatMap((disk) => {
    const { claim } = disk
    const which = titleOfDisk(disk)
    if (isTerminating(claim)) return [`${which}, is being deleted`]
    if (claim?.phase === 'Lost') return [`${which}, has no volume any more (the claim is Lost)`]
    if (claim !== undefined || isMade(disk)) return []
    return [`${which}, does not exist in namespace ${vm.metadata.namespace}`]
  })
  return texts.length === 0 ? undefined : `${texts.join('; ')}: create what is missing, or correct spec.disks`
}

/** Returns what to record about the disks: which claims the guest has had, and what they were made for. */
export function diskRecords(world: MachineWorld): Pick<VirtualMachineStatus, 'disks'> {
  const isOn = hasBooted(world)
  const disks = world.disks.map((disk): Record => {
    const { spec, claim, claimName, given } = disk
    const known = recordOf(world, disk)
    const isUsed = isOn && claim !== undefined && given?.claimName === claimName
    return withoutUndefined({
      name: spec.name,
      claim: claimName,
      volume: spec.volume,
      size: known?.size ?? spec.size,
      claimUID: isUsed ? claim.metadata.uid : known?.claimUID,
    }) as Record
  })
  return { disks: disks.length === 0 ? undefined : disks }
}

/** Returns what people should know about the disks of a machine that is deployed. */
export function warningsOnDisks(world: MachineWorld): DiskWarning[] {
  const { vm, disks, diskClaims, machine } = world
  const used = new Set(disks.map(({ claimName }) => claimName))
  const kept = diskClaims.filter((claim) => !used.has(claim.metadata.name) && !isTerminating(claim))
  const missing = machine === undefined ? undefined : missingDisks(world)
  const warnings: DiskWarning[] = missing === undefined ? [] : [{ reason: 'DiskMissing', message: missing }]
  if (kept.length > 0) {
    const names = kept.map(({ metadata }) => metadata.name)
    const message = `spec.disks does not use PersistentVolumeClaim ${names.join(', ')} any more: it stays with its data until the virtual machine is deleted; if nobody needs it: kubectl -n ${vm.metadata.namespace} delete pvc ${names.join(' ')}`
    warnings.push({ reason: 'DiskKept', message })
  }
  for (const disk of disks) {
    const { size } = recordOf(world, disk) ?? {}
    if (size === undefined || isSameValue(size, disk.spec.size)) continue
    const message = `${titleOfDisk(disk)}, keeps the size of ${size} that it was made with, although spec.disks asks for ${disk.spec.size}: undo the change, or add a disk with another name`
    warnings.push({ reason: 'DiskSizeKept', message })
  }
  return warnings
}
