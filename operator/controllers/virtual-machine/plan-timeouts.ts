import type { VirtualMachineStatus } from '@open-terrain/constructs'
import { fromTime, toTime } from '../../runtime/conditions.ts'
import { type Draft, failed, removalAsSeen, type Step, waiting } from './machine-plan.ts'
import type { Standing } from './status.ts'
import type { World } from './world.ts'

/** What is read by a clone may go without a word to us. */
const CLONE_LOOK_MS = 60_000
const READY_BY_THEN = 'the machine should be ready by then'

type Kicks = NonNullable<VirtualMachineStatus['kicks']>

/** A standing in the light of how long it has lasted: a machine that hangs is kicked, within a budget, or has failed. */
export function judged({ world, now }: Draft, standing: Standing, step: Omit<Step, 'standing'>): Step {
  const { vm, policy, clone } = world
  const { metadata, status } = vm
  if (standing.phase === 'Failed') return { ...step, standing }
  if (standing.phase === 'Ready' || standing.reason === 'Paused')
    return { ...step, standing, status: { ...step.status, kicks: undefined } }
  // A change of the spec is a new try.
  const isNewSpec = status.observedGeneration !== metadata.generation
  const began = (isNewSpec ? undefined : fromTime(status.provisioningSince)) ?? now
  const leftMs = began + policy.vmProvisionTimeoutMs - now
  const kept = { ...step.status, provisioningSince: toTime(began), ...(isNewSpec && { kicks: undefined }) }
  if (!isNewSpec && owesKick(world)) return kickedLate(world, standing, { ...step, status: kept }, { leftMs, now })
  if (leftMs <= 0) return overdue(world, standing, { ...step, status: kept }, now)
  const isCloning = clone !== undefined && clone.phase !== 'Succeeded'
  const wake = isCloning
    ? { afterMs: Math.min(leftMs, CLONE_LOOK_MS), because: 'what the disk is cloned from may be gone by then' }
    : { afterMs: leftMs, because: READY_BY_THEN }
  return { ...step, standing, status: kept, wake }
}

/** A kick that was written down, and not carried out before a crash, is made good: it is the same one. */
function kickedLate(
  world: World,
  standing: Standing,
  step: Omit<Step, 'standing'>,
  { leftMs, now }: { leftMs: number; now: number },
): Step {
  const { instance, vm } = world
  if (leftMs <= 0) return kick(world, step, vm.status.kicks ?? { count: 0 }, now)
  const remove = [...(step.remove ?? []), ...(instance === undefined ? [] : removalAsSeen(instance))]
  return { ...step, standing, remove, wake: { afterMs: leftMs, because: READY_BY_THEN } }
}

function kick(world: World, step: Omit<Step, 'standing'>, kicks: Kicks, now: number): Step {
  const { policy, instance } = world
  const { vmProvisionTimeoutMs, kickLimit } = policy
  const message = `the instance runs and was not ready for ${minutesOf(vmProvisionTimeoutMs)} min: it is deleted, so that KubeVirt starts it anew (${kicks.count} of ${kickLimit})`
  return {
    ...step,
    standing: waiting('Kicked', message),
    remove: instance === undefined ? [] : removalAsSeen(instance),
    status: { ...step.status, provisioningSince: toTime(now), kicks },
    wake: { afterMs: vmProvisionTimeoutMs, because: READY_BY_THEN },
  }
}

function owesKick({ vm, instance }: World): boolean {
  const { uid, deletionTimestamp } = instance?.metadata ?? {}
  const isSame = uid !== undefined && uid === vm.status.kicks?.instanceUID
  return isSame && deletionTimestamp === undefined && instance?.isReady === false
}

function minutesOf(ms: number): number {
  return Math.round(ms / 60_000)
}

function overdue(world: World, standing: Standing, step: Omit<Step, 'standing'>, now: number): Step {
  const { vm, policy, instance, machine } = world
  const minutes = minutesOf(policy.vmProvisionTimeoutMs)
  const { kicks = { count: 0 } } = vm.status
  // An instance that has never run is not helped by deleting it: KubeVirt only counts one more failure.
  const isRunning =
    instance?.phase === 'Running' && machine?.printableStatus === 'Running' && !machine.isReady && !instance.isReady
  const isNew = isRunning && instance.metadata.uid !== kicks.instanceUID
  // A guest that has just been switched on gets the whole time to become ready.
  const leftMs = isNew ? (instance.unreadySince ?? now) + policy.vmProvisionTimeoutMs - now : 0
  const isKickable = isNew && leftMs <= 0
  if (isKickable && kicks.count < policy.kickLimit) {
    const { uid } = instance.metadata
    const next = { count: kicks.count + 1, lastTime: toTime(now), ...(uid !== undefined && { instanceUID: uid }) }
    return kick(world, step, next, now)
  }
  if (isKickable) {
    const message = `restarted ${kicks.count} times and not ready still: ${standing.message}; see its console, and the events of VirtualMachineInstance ${instance.metadata.name}`
    return { ...step, standing: failed('KickBudgetSpent', message) }
  }
  const message = `not ready after ${minutes} min: ${standing.message}`
  const wake = { afterMs: leftMs, because: 'the guest has had the whole time to become ready' }
  return { ...step, standing: failed('Timeout', message), ...(leftMs > 0 && { wake }) }
}
