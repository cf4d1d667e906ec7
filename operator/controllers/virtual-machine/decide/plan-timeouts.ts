import type { VirtualMachineStatus } from '@open-terrain/constructs'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { steadyOf } from '../../../runtime/standing.ts'
import type { MachineWorld } from '../world.ts'
import { answers, standsStill } from './judge.ts'
import { failed, type MachineDraft, type Step, type Work, waiting } from './machine-plan.ts'
import { type Hung, hungPart } from './plan-hung.ts'
import type { MachineStanding } from './status.ts'

/** The source of a clone may disappear without a trigger for the machine. */
const CLONE_LOOK_MS = 60_000
const READY_BY_THEN = 'the machine should be ready by then'

type Kicks = NonNullable<VirtualMachineStatus['kicks']>

/** Judges a standing by how long it has lasted: a machine that hangs is kicked, within a budget, or fails. */
export function judged({ world, now }: MachineDraft, standing: MachineStanding, work: Work): Step {
  const { vm, policy, clone } = world
  const { metadata, status } = vm
  if (standing.phase === 'Failed') return { ...work, standing }
  if (standing.phase === 'Ready') return { ...work, standing, status: { ...work.status, kicks: undefined } }
  // A change of the spec starts a new attempt.
  const isNewSpec = status.observedGeneration !== metadata.generation
  const kicks = isNewSpec ? undefined : status.kicks
  if (isSpared(world, standing)) return spared(world, standing, { ...work, status: { ...work.status, kicks } }, now)
  const began = (isNewSpec ? undefined : fromTime(status.provisioningSince)) ?? now
  // After each kick it has the whole time again.
  const leftMs = Math.max(began, fromTime(kicks?.lastTime) ?? began) + policy.vmProvisionTimeoutMs - now
  const kept = { ...work, status: { ...work.status, kicks, provisioningSince: toTime(began) } }
  const hung = hungPart(world, work, now)
  const readyBy = { afterMs: leftMs, because: READY_BY_THEN }
  // A kick that was recorded but not carried out before a crash is carried out now. It counts once.
  if (!isNewSpec && hung?.isOwed) {
    const remove = [...(work.remove ?? []), ...removalOf(hung.object)]
    return leftMs > 0
      ? { ...kept, standing, remove, wake: readyBy }
      : kick(world, kept, hung, { count: 0, ...kicks, lastTime: toTime(now) })
  }
  if (leftMs <= 0) return overdue(world, standing, kept, hung, now)
  const isCloning = clone !== undefined && clone.phase !== 'Succeeded'
  const wake = isCloning
    ? { afterMs: Math.min(leftMs, CLONE_LOOK_MS), because: 'what the disk is cloned from may be gone by then' }
    : readyBy
  return { ...kept, standing, wake }
}

/** A guest that is paused or alive is not being provisioned. When it is not so any more, it gets the full timeout. */
function isSpared(world: MachineWorld, { reason }: MachineStanding): boolean {
  // If one of them is ready, the other one will be in a moment.
  const isNearly = world.instance?.isReady === true || world.machine?.isReady === true
  const isLate = !isNearly && (reason === 'NotReady' || reason === 'Stopping')
  return standsStill(world) || (answers(world) && isLate)
}

/** The timeout starts at a timestamp of KubeVirt. The reason `Paused`, as for a pause by people, has no timeout. */
function spared({ policy, machine, instance }: MachineWorld, standing: MachineStanding, work: Work, now: number): Step {
  if (standing.reason === 'Paused') return { ...work, standing }
  const since = standing.reason === 'PausedIOError' ? machine?.pause?.since : instance?.unreadySince
  const leftMs = (since ?? now) + policy.vmProvisionTimeoutMs - now
  if (leftMs > 0) return { ...work, standing, wake: { afterMs: leftMs, because: READY_BY_THEN } }
  const message = `not ready for ${inWords(policy.vmProvisionTimeoutMs)} (policy key vmProvisionTimeout): ${steadyOf(standing)}`
  return { ...work, standing: failed('Timeout', message) }
}

function kick({ policy }: MachineWorld, work: Work, hung: Hung, kicks: Kicks): Step {
  const { vmProvisionTimeoutMs, kickLimit } = policy
  const message = `${hung.kicked(inWords(vmProvisionTimeoutMs))} (${kicks.count} of ${kickLimit})`
  return {
    ...work,
    standing: waiting('Kicked', message),
    remove: removalOf(hung.object),
    status: { ...work.status, kicks },
    wake: { afterMs: vmProvisionTimeoutMs, because: READY_BY_THEN },
  }
}

/** Formats a duration in minutes, or in seconds if it is shorter than 2 minutes. */
function inWords(ms: number): string {
  return ms < 120_000 ? `${ms / 1_000} s` : `${Math.round(ms / 60_000)} min`
}

function overdue(
  world: MachineWorld,
  standing: MachineStanding,
  work: Work,
  hung: Hung | undefined,
  now: number,
): Step {
  const { vm, policy } = world
  const { kicks = { count: 0 } } = vm.status
  // A part that has just begun, or made progress, gets the full timeout from then on.
  const leftMs = hung === undefined ? 0 : hung.since + policy.vmProvisionTimeoutMs - now
  const wake = { afterMs: leftMs, because: 'it has had the whole time to get further' }
  // A clone starts a moment after the machine's time does. During that moment, a clone that hangs is not reported as a failure.
  if (leftMs > 0 && leftMs <= CLONE_LOOK_MS) return { ...work, standing, wake }
  if (hung === undefined || leftMs > 0) {
    const message = `not ready after ${inWords(policy.vmProvisionTimeoutMs)} (policy key vmProvisionTimeout): ${steadyOf(standing)}`
    return { ...work, standing: failed('Timeout', message), ...(leftMs > 0 && { wake }) }
  }
  if (kicks.count >= policy.kickLimit)
    return { ...work, standing: failed('KickBudgetSpent', hung.givenUp(kicks.count, steadyOf(standing))) }
  const { uid } = hung.object.metadata
  const next = { count: kicks.count + 1, lastTime: toTime(now), ...(uid !== undefined && { [hung.noted]: uid }) }
  return kick(world, work, hung, next)
}
