import { fromTime, toTime } from '../../runtime/conditions.ts'
import { type Draft, failed, removalAsSeen, type Step, waiting } from './machine-plan.ts'
import type { Standing } from './status.ts'
import type { World } from './world.ts'

/** What is read by a clone may go without a word to us. */
const CLONE_LOOK_MS = 60_000

/** A standing in the light of how long it has lasted: a machine that hangs is kicked, within a budget, or has failed. */
export function judged({ world, now }: Draft, standing: Standing, step: Omit<Step, 'standing'>): Step {
  const { vm, policy, instance, clone } = world
  const { metadata, status } = vm
  if (standing.phase === 'Failed') return { ...step, standing }
  if (standing.phase === 'Ready' || standing.reason === 'Paused')
    return { ...step, standing, status: { ...step.status, kicks: undefined } }
  // A change of the spec is a new try.
  const isNewSpec = status.observedGeneration !== metadata.generation
  const began = (isNewSpec ? undefined : fromTime(status.provisioningSince)) ?? now
  const leftMs = began + policy.vmProvisionTimeoutMs - now
  const kept = { ...step.status, provisioningSince: toTime(began), ...(isNewSpec && { kicks: undefined }) }
  if (leftMs <= 0) return overdue(world, standing, { ...step, status: kept }, now)
  // A kick that was written down, and not carried out before a crash.
  const isOwed = !isNewSpec && instance !== undefined && instance.metadata.uid === status.kicks?.instanceUID && !instance.isReady
  const isCloning = clone !== undefined && clone.phase !== 'Succeeded'
  return {
    ...step,
    standing,
    status: kept,
    remove: [...(step.remove ?? []), ...(isOwed ? removalAsSeen(instance) : [])],
    wake: isCloning
      ? { afterMs: Math.min(leftMs, CLONE_LOOK_MS), because: 'what the disk is cloned from may be gone by then' }
      : { afterMs: leftMs, because: 'the machine should be ready by then' },
  }
}

function overdue(
  { vm, policy, instance, machine }: World,
  standing: Standing,
  step: Omit<Step, 'standing'>,
  now: number,
): Step {
  const minutes = Math.round(policy.vmProvisionTimeoutMs / 60_000)
  const { kicks = { count: 0 } } = vm.status
  // An instance that has never run is not helped by deleting it: KubeVirt only counts one more failure.
  const isRunning = instance?.phase === 'Running' && machine?.printableStatus === 'Running' && !machine.isReady && !instance.isReady
  const isNew = isRunning && instance.metadata.uid !== kicks.instanceUID
  // A guest that has just been switched on gets the whole time to become ready.
  const leftMs = isNew ? (instance.unreadySince ?? now) + policy.vmProvisionTimeoutMs - now : 0
  const isKickable = isNew && leftMs <= 0
  if (isKickable && kicks.count < policy.kickLimit) {
    const count = kicks.count + 1
    const message = `the instance runs and was not ready for ${minutes} min: it is deleted, so that KubeVirt starts it anew (${count} of ${policy.kickLimit})`
    return {
      ...step,
      standing: waiting('Kicked', message),
      remove: removalAsSeen(instance),
      status: {
        ...step.status,
        provisioningSince: toTime(now),
        kicks: { count, lastTime: toTime(now), ...(instance.metadata.uid && { instanceUID: instance.metadata.uid }) },
      },
    }
  }
  if (isKickable) {
    const message = `restarted ${kicks.count} times and not ready still: ${standing.message}; see its console, and the events of VirtualMachineInstance ${instance.metadata.name}`
    return { ...step, standing: failed('KickBudgetSpent', message) }
  }
  const message = `not ready after ${minutes} min: ${standing.message}`
  const wake = { afterMs: leftMs, because: 'the guest has had the whole time to become ready' }
  return { ...step, standing: failed('Timeout', message), ...(leftMs > 0 && { wake }) }
}
