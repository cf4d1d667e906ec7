import { fromTime } from '../../../base/time.ts'
import type { Neighbour } from '../../../cluster/neighbour-facts.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { POD } from '../../../kube/resource-types.ts'
import type { Precondition } from '../../../runtime/preconditions.ts'
import type { InstanceView } from '../kubevirt-views.ts'
import type { CloneFacts, MachineWorld } from '../world.ts'
import { answers, isUnanswered, POD_GOES, waitsForConsumer } from './judge.ts'
import { hasBooted, losesDisk, runStrategyOf, type Work } from './machine-plan.ts'
import { storageClassOf } from './plan-children.ts'
import { artifactOf } from './plan-image.ts'

/** A part of a machine that may hang, and that is recreated when it is deleted. */
export interface Hung {
  readonly object: InstanceView | CloneFacts
  /** Since when it has made no progress, in ms. */
  readonly since: number
  /** Who reports that it makes no progress. */
  readonly reporter: Neighbour
  /** What a live look must show before it is deleted. */
  readonly onlyIf: readonly Precondition[]
  /** Status field that records its deletion, so that no kick is counted twice. */
  readonly noted: 'instanceUID' | 'dataVolumeUID'
  /** The status records the kick, but the object is not deleted yet. */
  readonly isUnfinished: boolean
  /** Messages for people. The caller appends the number of a kick, or passes the number of kicks and what the machine waits for. */
  kicked(lasted: string): string
  givenUp(count: number, summary: string): string
}

/** How often a guest is looked at that KubeVirt reports as unready, and whose pod is ready. */
const POD_LOOK_MS = 30_000

/** Phases in which CDI does not work on a clone: CDI has not processed it yet, or is done. */
const AT_REST: ReadonlySet<string> = new Set(['', 'Unknown', 'Succeeded', 'Failed'])
/** Condition reasons of CDI that only people can resolve: another clone would wait for the same. */
const WAITS_FOR_PEOPLE: ReadonlySet<string> = new Set([
  'ErrExceededQuota',
  'ErrClaimNotValid',
  'CloneValidationFailed',
  'ImagePullFailed',
  'Unschedulable',
])
/** The same as messages of other components, which CDI passes on. */
const WAITING = /exceeded quota|waiting for first consumer/

/** Returns the part of a machine that may hang now: its clone, as long as that is not complete, or its instance. */
export function hungPart(world: MachineWorld, work: Work, now: number): Hung | undefined {
  return hungClone(world, work, now) ?? hungInstance(world, now)
}

/**
 * Deleting an instance that has never run does not help: KubeVirt only counts one more failure. Nor does it help if the pod is being deleted
 * already. An instance whose disk would be deleted with it has the last copy of the data. A guest that does not answer a probe runs, and may be at work.
 */
function hungInstance(world: MachineWorld, now: number): Hung | undefined {
  const { vm, instance, machine } = world
  if (instance === undefined || answers(world) || isUnanswered(instance) || losesDisk(world)) return undefined
  // With another run strategy than `Always`, nothing would start it again.
  if (instance.unreadyReason === POD_GOES || runStrategyOf(world) !== 'Always') return undefined
  const { uid, name, deletionTimestamp } = instance.metadata
  const isNoted = uid !== undefined && uid === vm.status.kicks?.instanceUID
  const isRunning = instance.phase === 'Running' && machine?.printableStatus === 'Running' && !machine.isReady
  const isUnfinished = isNoted && deletionTimestamp === undefined
  if (!isUnfinished && (isNoted || !isRunning)) return undefined
  return {
    object: instance,
    // A guest that has just been switched on gets the full timeout to become ready.
    since: instance.unreadySince ?? now,
    reporter: 'KubeVirt',
    onlyIf: [podsUnready(instance)],
    noted: 'instanceUID',
    isUnfinished,
    kicked: (lasted) =>
      `the instance runs and was not ready for ${lasted}: it is deleted, so that KubeVirt starts it again`,
    givenUp: (count, summary) =>
      `${count === 0 ? 'not restarted, since the policy key kickLimit is 0' : `${revived(count)}, and still`}: ${summary}; see its console, and the events of VirtualMachineInstance ${name}`,
  }
}

/** KubeVirt copies the readiness of the pod. The pod itself shows it even while nothing copies it; during a migration there are two. */
function podsUnready({ metadata: { namespace = '', uid = '' } }: InstanceView): Precondition {
  return {
    noneReady: { type: POD, namespace, labelSelector: `kubevirt.io/created-by=${uid}` },
    knownAfterMs: POD_LOOK_MS,
  }
}

/** Returns the clone if CDI works on it, or should. Never a disk that has booted, is removed anyway, or could not be made again. */
function hungClone(world: MachineWorld, { status, remove = [] }: Work, now: number): Hung | undefined {
  const { vm, clone } = world
  if (clone === undefined || remove.length > 0 || hasBooted(world) || !canHang(world, clone)) return undefined
  const { uid, name } = clone.metadata
  const { kicks } = vm.status
  const since = fromTime((status?.clone ?? vm.status.clone)?.progressTime) ?? now
  const isNoted = uid !== undefined && uid === kicks?.dataVolumeUID
  return {
    object: clone,
    since,
    reporter: 'CDI',
    onlyIf: [],
    noted: 'dataVolumeUID',
    // A clone that has made progress since the kick was recorded is left alone.
    isUnfinished: isNoted && since <= (fromTime(kicks?.lastTime) ?? 0),
    kicked: (lasted) =>
      `DataVolume ${name} made no progress for ${lasted}: it is deleted, and the root disk is cloned again`,
    givenUp: (count, summary) =>
      `${count === 0 ? 'not cloned again, since the policy key kickLimit is 0' : `${revived(count)}, and the root disk makes no progress`}: ${summary}; see the events of DataVolume ${name}, and whether CDI and the storage driver run`,
  }
}

/** The policy key kickLimit is one budget for restarts and new clones. */
function revived(count: number): string {
  return `restarted or cloned again ${count === 1 ? 'once' : `${count} times`}`
}

/** Reports whether CDI should make progress with a clone, and could make another one in its place. */
export function canHang({ image, storageClass }: MachineWorld, clone: CloneFacts): boolean {
  const { phase, bound, running } = clone
  const conditions = [bound, running]
  return (
    !isTerminating(clone) &&
    !AT_REST.has(phase) &&
    !waitsForConsumer(clone) &&
    !conditions.some(({ reason, message }) => WAITS_FOR_PEOPLE.has(reason) || WAITING.test(message)) &&
    artifactOf(image) !== undefined &&
    (storageClass !== undefined || storageClassOf(image) === undefined)
  )
}
