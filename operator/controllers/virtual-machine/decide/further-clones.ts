import { CLONE_SOURCES } from '../../../cluster/clone-sources.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE } from '../../../kube/resource-types.ts'
import { type Removal, removalOf } from '../../../runtime/plan.ts'
import { type Requeue, sooner } from '../../../runtime/requeue.ts'
import { steadyOf } from '../../../runtime/summary.ts'
import type { DiskFacts, MachineWorld } from '../world.ts'
import { isTrusted } from './absence.ts'
import { CLONE_REQUEUE, judged } from './deadline.ts'
import { stillInVain } from './disk-loss.ts'
import { diskRecords, isInVain, isMade, isOfOtherNamespace, recordOf } from './further-disks.ts'
import { awaitedImages } from './further-images.ts'
import { summaryOfDisk } from './judge.ts'
import { hasBooted, type MachineDraft, type Step, waiting } from './machine-plan.ts'
import { wantedDiskClones } from './plan-children.ts'
import { cloneStatus } from './plan-disk.ts'
import type { MachineSummary } from './status.ts'

/** Adds what is to be done for the clones of disks beside the root disk, which are made beside it. */
export function withDiskClones({ world }: Pick<MachineDraft, 'world'>, step: Step): Step {
  const cloned = world.disks.filter(({ ofImage }) => ofImage !== undefined)
  const strays = straysInVain(world)
  if (cloned.length === 0) return strays.length === 0 ? step : { ...step, remove: [...(step.remove ?? []), ...strays] }
  // A claim that has outlived its DataVolume is used as it is.
  const isUnfinished = cloned.some(({ ofImage, claim }) => {
    return ofImage?.clone === undefined ? claim === undefined : ofImage.clone.phase !== 'Succeeded'
  })
  const wakes = [step.requeue, isUnfinished ? CLONE_REQUEUE : undefined, awaitedImages(world)?.requeue]
  const requeue = wakes.filter((one) => one !== undefined).reduce<Requeue | undefined>(sooner, undefined)
  const blocking = machineInTheWay(world, cloned)
  const isMachine = ({ kind }: KubeObject) => kind === KUBEVIRT_VIRTUAL_MACHINE.kind
  const apply = [...wantedDiskClones(world), ...(step.apply ?? [])]
  return {
    ...step,
    apply: blocking.length === 0 ? apply : apply.filter((one) => !isMachine(one)),
    remove: [...(step.remove ?? []), ...blocking, ...clonesInVain(world, cloned), ...strays],
    ...(requeue !== undefined && { requeue }),
  }
}

/** The pod of a machine that has not started keeps the claim of a disk that is to be made again. */
function machineInTheWay(world: MachineWorld, cloned: readonly DiskFacts[]): Removal[] {
  const isGoing = cloned.some(({ ofImage, given }) => given !== undefined && isTerminating(ofImage?.clone))
  return isGoing && !hasBooted(world) ? removalOf(world.machine) : []
}

/**
 * A CD-ROM that has lost its volume is cloned again. So is a disk that only CDI has written to, if its source is gone, or its image is in another namespace
 * than that of the spec.
 */
function clonesInVain(world: MachineWorld, cloned: readonly DiskFacts[]): Removal[] {
  if (!isTrusted(world, 'CDI')) return []
  return cloned.flatMap((disk): Removal[] => {
    const { spec, ofImage, claim, ownClaim } = disk
    const { clone, hasCloneSource = true } = ofImage ?? {}
    // A CD-ROM has nothing of the guest.
    if (spec.readOnly === true && isMade(disk) && claim?.phase === 'Lost')
      return removalOf(clone ?? claim, ...stillInVain(world, ownClaim, claim))
    const isOfGuest = recordOf(world, disk)?.claimUID !== undefined
    if (clone?.cloneOf === undefined || !isInVain(clone, claim) || isOfGuest) return []
    const unfilled = stillInVain(world, ownClaim, claim)
    if (isOfOtherNamespace(disk)) return removalOf(clone, ...unfilled)
    if (hasCloneSource || clone.phase === 'Failed') return []
    const { kind, namespace, name } = clone.cloneOf
    const absent = [{ type: CLONE_SOURCES[kind], namespace, name }]
    return removalOf(clone, { absent, whose: "anybody's" }, ...unfilled)
  })
}

/** A clone that no disk needs any more would keep its image from being deleted. */
function straysInVain(world: MachineWorld): Removal[] {
  const { instance, strayClones } = world
  // A guest that starts may wait for the claim. One that runs has none that is not bound.
  const isStarting = instance !== undefined && instance.phase !== 'Running'
  if (isStarting || !isTrusted(world, 'CDI')) return []
  return strayClones.flatMap(({ clone, claim }) =>
    isInVain(clone, claim) ? removalOf(clone, ...stillInVain(world, clone.metadata.name, claim)) : [],
  )
}

/** Plans the clones that KubeVirt's machine waits for to be made; returns undefined if it is made, or their claims are there. */
export function planDiskClones(draft: MachineDraft): Step | undefined {
  const { world } = draft
  if (world.machine !== undefined) return undefined
  const awaited = world.disks.filter((disk) => {
    const { clone } = disk.ofImage ?? {}
    const isAmiss = isTerminating(clone) || clone?.phase === 'Failed'
    return disk.ofImage !== undefined && isMade(disk) && (disk.claim === undefined || isAmiss)
  })
  const [first] = awaited
  if (first === undefined) return undefined
  const status = { ...(world.clone && cloneStatus(draft, world.clone)), ...diskRecords(world) }
  const wait = awaitedImages(world)
  if (wait !== undefined) {
    const { phase } = wait.summary
    // The reasons about images are about that of the root disk, once it is cloned: its Workspace would download it again.
    return { ...wait, summary: { phase, reason: 'DiskMissing', message: steadyOf(wait.summary) }, status }
  }
  const worst = awaited.find(({ ofImage }) => ofImage?.clone?.phase === 'Failed') ?? first
  return judged(draft, summaryOfClone(worst), { status })
}

function summaryOfClone({ spec: { name }, ofImage }: DiskFacts): MachineSummary {
  const { clone, key } = ofImage ?? {}
  if (clone === undefined) return waiting('Cloning', `disk ${name} is cloned from VMDiskImage ${key}`)
  if (!isTerminating(clone)) return summaryOfDisk(clone, undefined, `disk ${name}`)
  const message = `DataVolume ${clone.metadata.name} is being deleted: disk ${name} is recreated when it is gone`
  return waiting('Cloning', message)
}
