import { isTerminating } from '../../../kube/kube-object.ts'
import { type Requeue, sooner } from '../../../runtime/requeue.ts'
import type { DiskFacts, MachineWorld } from '../world.ts'
import { isToBeCloned } from './further-disks.ts'
import { failed, type Step, waiting } from './machine-plan.ts'
import { artifactOf, type ImageState, SOURCE_REQUEUE, summaryOfSync } from './plan-image.ts'
import type { MachineSummary } from './status.ts'

/** What the disks beside the root disk wait for. */
type ImageWait = Pick<Step, 'summary' | 'requeue'>

/** Returns what the clones of disks beside the root disk wait for, of all images that cannot be cloned yet; undefined if all can. */
export function awaitedImages({ disks }: Pick<MachineWorld, 'disks'>): ImageWait | undefined {
  return waitsOf(disks.filter(isToBeCloned))
}

/** The same for disks that are to be cloned, whatever there is of them. */
export function waitsOf(disks: readonly DiskFacts[]): ImageWait | undefined {
  const waits = disks.flatMap((disk) => waitOf(disk) ?? [])
  return waits.length === 0 ? undefined : waits.reduce(joined)
}

/** Joins two waits. What has failed comes first: people must act upon it. */
function joined(one: ImageWait, other: ImageWait): ImageWait {
  const isWorse = other.summary.phase === 'Failed' && one.summary.phase !== 'Failed'
  const [{ summary: first }, { summary: second }] = isWorse ? [other, one] : [one, other]
  const isMoving = first.steady !== undefined || second.steady !== undefined
  const steady = [first, second].map((summary) => summary.steady ?? summary.message).join('; ')
  const message = [first, second].map((summary) => summary.message).join('; ')
  const wakes = [one.requeue, other.requeue].filter((each) => each !== undefined)
  const requeue = wakes.reduce<Requeue | undefined>(sooner, undefined)
  return {
    summary: { ...first, message, ...(isMoving && { steady }) },
    ...(requeue !== undefined && { requeue }),
  }
}

function waitOf({ spec, ofImage }: DiskFacts): ImageWait | undefined {
  if (ofImage === undefined) return undefined
  const { key, image, clone, hasCloneSource } = ofImage
  const which = `VMDiskImage ${key}`
  const ofDisk = (summary: MachineSummary): ImageWait => ({ summary: named(spec.name, summary) })
  if (image === undefined) {
    const message = `${which} does not exist: waiting until somebody creates it, or corrects spec.disks`
    return ofDisk(waiting('ImageNotFound', message))
  }
  const { artifact, phase, message: said } = image.status
  const detail = said === undefined ? '' : `: ${said}`
  if (isTerminating(image)) {
    const message = `${which} is being deleted: create it again when it is gone, or name another in spec.disks${detail}`
    return ofDisk(waiting('ImageTerminating', message))
  }
  if (artifactOf(image) !== undefined) {
    // The source of an earlier clone says nothing about the next one.
    if (hasCloneSource || clone !== undefined) return undefined
    const message = `${artifact?.kind} ${artifact?.name}, the artifact in the status of ${which}, does not exist${detail}`
    return { ...ofDisk(waiting('CloneSourceGone', message)), requeue: SOURCE_REQUEUE }
  }
  const { queuePosition } = image.status
  if (phase === 'Queued' && queuePosition !== undefined) {
    const queued = (place: string) => `${which} is Queued${place}${detail}`
    return ofDisk(waiting('WaitingForImage', queued(` (place ${queuePosition} in the queue)`), queued('')))
  }
  if (phase !== 'Failed') return ofDisk(summaryOfSync(image))
  const { namespace, name } = image.metadata
  const edit = `correct that image, not the virtual machine: kubectl -n ${namespace} edit vmdi ${name}`
  return ofDisk(failed('ImageFailed', `${which} is Failed${detail}; ${edit}`))
}

function named(disk: string, { message, steady, ...summary }: MachineSummary): MachineSummary {
  const title = `disk ${disk}: `
  return { ...summary, message: title + message, ...(steady !== undefined && { steady: title + steady }) }
}

/** A machine has all its images, or waits for all of them: what it waits for besides that of its root disk is added. */
export function withAwaitedImages(image: ImageState, world: MachineWorld): ImageState {
  const wait = awaitedImages(world)
  if (wait === undefined) return image
  const { shown } = image
  const step: Step = image.kind === 'ready' ? wait : { ...image.step, ...joined(image.step, wait) }
  const { reason, message } = step.summary
  return { kind: 'not yet', step, shown, condition: { holds: false, reason, message } }
}
