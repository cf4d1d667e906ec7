import {
  cloudInitFingerprint,
  cloudInitHash,
  type FirstStartParts,
  firstStartParts,
  type VirtualMachineReason,
  type VirtualMachineSpec,
  type VirtualMachineStatus,
} from '@open-terrain/constructs/operator'
import { keyOf } from '../../../kube/kube-object.ts'
import type { Saying } from '../../../runtime/conditions.ts'
import type { MachineWorld } from '../world.ts'
import { diskLoss, isFilledByCDI } from './disk-loss.ts'
import { waitsForConsumer } from './judge.ts'
import { hasBooted, hasDisk, isDeployed } from './machine-plan.ts'
import { changedSince, wantsOf } from './plan-children.ts'
import { imageKeyOf } from './plan-image.ts'
import type { MachineSummary, Remark } from './status.ts'

/** Whether the root disk is of what the spec and its image are now. `why` is for people, and has no secret in it. */
export type DiskAge =
  | { readonly is: 'current' }
  | { readonly is: 'outdated'; readonly reason: 'SpecChanged' | 'ImageRefreshed'; readonly why: string }
  | { readonly is: 'unknown'; readonly reason: 'NotRecorded'; readonly why: string }

/**
 * Returns whether the root disk is outdated, and why: the spec wants another disk (SpecChanged), or the image has a newer revision than the disk
 * (ImageRefreshed). What was not recorded when the disk was made is not guessed. Returns undefined while there is no disk that could be outdated: none
 * is complete, it is lost, or the spec cannot be read.
 * @param status of the machine. Default: as it is stored
 */
export function diskAge(world: MachineWorld, status: VirtualMachineStatus = world.vm.status): DiskAge | undefined {
  const { spec, clone } = world
  const isMade = isFilled(world) || (clone !== undefined && waitsForConsumer(clone))
  if (!spec.ok || !hasDisk(world) || !isMade || diskLoss(world) !== undefined) return undefined
  const origin = unknownOrigin(world)
  if (origin !== undefined) return notRecorded(origin)
  const changed = [...diskChanges(world, spec.spec, status), ...firstStartChanges(world, spec.spec, status)]
  if (changed.length > 0) return { is: 'outdated', reason: 'SpecChanged', why: changed.join('; ') }
  const refreshed = refreshOf(world, status)
  if (refreshed !== undefined) return { is: 'outdated', reason: 'ImageRefreshed', why: refreshed }
  const { image, sourceRevision } = status.clone ?? {}
  if (image === undefined || sourceRevision === undefined)
    return notRecorded('it is not recorded which image the root disk was made from, and at which revision')
  if (status.bootedAt !== undefined && !isFirstStartKnown(world, status))
    return notRecorded('it is not recorded what the guest was told at its first start')
  return { is: 'current' }
}

function notRecorded(why: string): DiskAge {
  return { is: 'unknown', reason: 'NotRecorded', why }
}

/** Reports whether the disk is complete, or a guest has run from it. */
function isFilled(world: MachineWorld): boolean {
  const { clone } = world
  return clone === undefined || clone.phase === 'Succeeded' || hasBooted(world)
}

/** The status is about the disk that the operator has had made. A restore, or a person, may have put anything into its place. */
function unknownOrigin({ restoredClaim, clone, claim }: MachineWorld): string | undefined {
  if (restoredClaim !== undefined)
    return `the root disk, PersistentVolumeClaim ${restoredClaim}, is from a restore of KubeVirt, and it is not recorded which image that was made from`
  if (clone === undefined || claim === undefined || isFilledByCDI(clone, claim)) return undefined
  return `somebody else has filled PersistentVolumeClaim ${claim.metadata.name}, the root disk, and it is not recorded with what`
}

function diskChanges(world: MachineWorld, spec: VirtualMachineSpec, { clone }: VirtualMachineStatus): string[] {
  const wants = wantsOf({ world, spec })
  return changedSince(clone, wants).map((field) =>
    field === 'vmDiskImageRef'
      ? `the disk was made from VMDiskImage ${clone?.image}, and spec.vmDiskImageRef names ${wants.image}`
      : `the disk was made with resources.diskSize ${clone?.diskSize ?? 'of its image'}, and the spec has ${wants.diskSize ?? 'none'}`,
  )
}

/** Returns the parts of the spec that the guest has read, and that are different now. */
function firstStartChanges(world: MachineWorld, spec: VirtualMachineSpec, status: VirtualMachineStatus): string[] {
  const { firstStart: had, bootedAt, secretHash } = status
  if (bootedAt === undefined || had === undefined) return []
  const has = firstStartParts(world.vm.metadata.name, spec)
  const fields = (Object.keys(has) as (keyof FirstStartParts)[]).filter((field) => {
    return had[field] !== undefined && had[field] !== has[field]
  })
  // What is written in another way may mean the same. That shows as long as the Secret is the one of the first start.
  const isSame = had.secretHash === secretHash && isAsStarted(world, status)
  if (fields.length === 0 || isSame) return []
  const names = fields.map((field) => `spec.${field}`)
  return [`${names.join(', ')} changed after the first start, and the guest has read the old values`]
}

/** Reports whether it is recorded what the guest was told, or shows without a record. */
function isFirstStartKnown(world: MachineWorld, status: VirtualMachineStatus): boolean {
  return status.firstStart === undefined ? isAsStarted(world, status) : status.firstStart.users !== undefined
}

/** Reports whether the guest would be told now what it was told at its first start. */
function isAsStarted(world: MachineWorld, { specHash }: Pick<VirtualMachineStatus, 'specHash'>): boolean {
  return specHash !== undefined && specHash === wantedFingerprint(world)
}

/** Returns the fingerprint of the cloud-init data of now; undefined if it cannot be rendered. */
function wantedFingerprint({ cloudInit, secret }: MachineWorld): string | undefined {
  if (cloudInit.kind !== 'rendered' || secret === undefined) return undefined
  return cloudInitFingerprint(secret.metadata.uid ?? '', cloudInitHash(cloudInit.data))
}

/**
 * Returns what to record about the parts of the spec that the guest has read. They are those of now only where the whole of its data is that of now. Of
 * a guest whose Secret was made again before they were recorded, nothing is known any more: then nothing is in the record, and it stays so.
 */
export function firstStartRecord(
  world: MachineWorld,
  {
    isSame,
    specHash,
    secretHash,
  }: Pick<VirtualMachineStatus, 'specHash' | 'secretHash'> & { readonly isSame: boolean },
): VirtualMachineStatus['firstStart'] {
  const { vm, spec } = world
  const { firstStart, bootedAt } = vm.status
  if (firstStart !== undefined || !spec.ok) return firstStart
  if (bootedAt !== undefined && !isSame) return {}
  return isAsStarted(world, { specHash }) ? { ...firstStartParts(vm.metadata.name, spec.spec), secretHash } : undefined
}

/** An image that is gone, or has no artifact, has nothing newer. */
function refreshOf({ image }: MachineWorld, { clone }: VirtualMachineStatus): string | undefined {
  const { sourceRevision, imageUID } = clone ?? {}
  const { artifact } = image?.status ?? {}
  if (image === undefined || artifact === undefined) return undefined
  const which = `VMDiskImage ${keyOf(image.metadata)}`
  if (sourceRevision !== undefined && sourceRevision !== artifact.revision)
    return `the disk was made from revision ${sourceRevision} of ${which}, which has revision ${artifact.revision} now`
  if (imageUID !== undefined && imageUID !== image.metadata.uid)
    return `${which} was deleted and made again after the disk was made`
  return undefined
}

interface UpToDateFacts {
  readonly status: VirtualMachineStatus
  readonly summary: MachineSummary
  readonly remarks: readonly Remark[]
}

/** Returns what the condition UpToDate says. */
export function upToDate(
  world: MachineWorld,
  { status, summary, remarks }: UpToDateFacts,
): Saying<VirtualMachineReason> {
  const of = (holds: Saying['status'], reason: VirtualMachineReason, message: string) => {
    return { status: holds, reason, message }
  }
  const { spec, vm } = world
  if (!spec.ok) return of('Unknown', summary.reason, summary.message)
  if (spec.spec.ignoreOnDeploy === true && !isDeployed(world))
    return of('True', 'UpToDate', 'no machine is made, so there is no disk')
  const age = diskAge(world, status)
  if (age === undefined || (!isFilled(world) && summary.phase !== 'Ready'))
    return of('False', summary.reason, summary.message)
  const waits = remarks.filter(({ type }) => type === 'RestartRequired' || type === 'NamesNotCurrent')
  const told = [...(age.is === 'current' ? [] : [age.why]), ...waits.map(({ message }) => message)].join('; ')
  if (age.is === 'outdated') return of('False', age.reason, told)
  if (waits.length > 0) return of('False', 'RestartRequired', told)
  if (age.is === 'unknown') return of('Unknown', age.reason, told)
  const { sourceRevision } = status.clone ?? {}
  const message = `the disk is of VMDiskImage ${keyOf(imageKeyOf({ vm }, spec.spec))}, revision ${sourceRevision}`
  const isOther = remarks.some(({ type }) => type === 'RebuildRequired')
  const but = '; a password, or what is in a Secret, has changed since the first start: only a new disk gets that'
  return of('True', 'UpToDate', isOther ? message + but : message)
}
