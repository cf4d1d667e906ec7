import type { VirtualMachineStatus } from '@open-terrain/constructs'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { steadyOf } from '../../../runtime/standing.ts'
import type { MachineWorld } from '../world.ts'
import { answers, standsStill } from './judge.ts'
import { failed, type MachineDraft, type Step, type Work, waiting } from './machine-plan.ts'
import { type Hung, hungPart } from './plan-hung.ts'
import type { MachineStanding } from './status.ts'

/** What is read by a clone may go without a word to us. */
const CLONE_LOOK_MS = 60_000
const READY_BY_THEN = 'the machine should be ready by then'

type Kicks = NonNullable<VirtualMachineStatus['kicks']>

/** A standing in the light of how long it has lasted: a machine that hangs is kicked, within a budget, or has failed. */
export function judged({ world, now }: MachineDraft, standing: MachineStanding, work: Work): Step {
  const { vm, policy, clone } = world
  const { metadata, status } = vm
  if (standing.phase === 'Failed') return { ...work, standing }
  if (standing.phase === 'Ready') return { ...work, standing, status: { ...work.status, kicks: undefined } }
  // A change of the spec is a new try.
  const isNewSpec = status.observedGeneration !== metadata.generation
  const kicks = isNewSpec ? undefined : status.kicks
  if (isSpared(world, standing)) return spared(world, standing, { ...work, status: { ...work.status, kicks } }, now)
  const began = (isNewSpec ? undefined : fromTime(status.provisioningSince)) ?? now
  const leftMs = began + policy.vmProvisionTimeoutMs - now
  const kept = { ...work, status: { ...work.status, kicks, provisioningSince: toTime(began) } }
  const hung = hungPart(world, work, now)
  const readyBy = { afterMs: leftMs, because: READY_BY_THEN }
  // A kick that was written down, and not carried out before a crash, is made good: it is the same one.
  if (!isNewSpec && hung?.isOwed) {
    const remove = [...(work.remove ?? []), ...removalOf(hung.object)]
    return leftMs > 0
      ? { ...kept, standing, remove, wake: readyBy }
      : kick(world, kept, hung, kicks ?? { count: 0 }, now)
  }
  if (leftMs <= 0) return overdue(world, standing, kept, hung, now)
  const isCloning = clone !== undefined && clone.phase !== 'Succeeded'
  const wake = isCloning
    ? { afterMs: Math.min(leftMs, CLONE_LOOK_MS), because: 'what the disk is cloned from may be gone by then' }
    : readyBy
  return { ...kept, standing, wake }
}

/** A guest that is paused, or shows that it lives, is not being stood up: when it is not so any more, it has the whole time. */
function isSpared(world: MachineWorld, { reason }: MachineStanding): boolean {
  // Where one of them is ready, the other one is in a moment.
  const isNearly = world.instance?.isReady === true || world.machine?.isReady === true
  const isLate = !isNearly && (reason === 'NotReady' || reason === 'Stopping')
  return standsStill(world) || (answers(world) && isLate)
}

/** How long that may last is measured by KubeVirt's own clock. What people have paused may last for ever. */
function spared({ policy, machine, instance }: MachineWorld, standing: MachineStanding, work: Work, now: number): Step {
  if (standing.reason === 'Paused') return { ...work, standing }
  const since = standing.reason === 'PausedIOError' ? machine?.pause?.since : instance?.unreadySince
  const leftMs = (since ?? now) + policy.vmProvisionTimeoutMs - now
  if (leftMs > 0) return { ...work, standing, wake: { afterMs: leftMs, because: READY_BY_THEN } }
  const message = `not ready for ${inWords(policy.vmProvisionTimeoutMs)}: ${steadyOf(standing)}`
  return { ...work, standing: failed('Timeout', message) }
}

function kick({ policy }: MachineWorld, work: Work, hung: Hung, kicks: Kicks, now: number): Step {
  const { vmProvisionTimeoutMs, kickLimit } = policy
  const message = `${hung.kicked(inWords(vmProvisionTimeoutMs))} (${kicks.count} of ${kickLimit})`
  return {
    ...work,
    standing: waiting('Kicked', message),
    remove: removalOf(hung.object),
    status: { ...work.status, provisioningSince: toTime(now), kicks },
    wake: { afterMs: vmProvisionTimeoutMs, because: READY_BY_THEN },
  }
}

/** In minutes, or where those would say too little, in seconds. */
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
  // What has just begun, or got further, has the whole time to come to an end.
  const leftMs = hung === undefined ? 0 : hung.since + policy.vmProvisionTimeoutMs - now
  const wake = { afterMs: leftMs, because: 'it has had the whole time to get further' }
  // A clone is set going a moment after its machine: one that hangs is not told as a failure for that moment.
  if (leftMs > 0 && leftMs <= CLONE_LOOK_MS) return { ...work, standing, wake }
  if (hung === undefined || leftMs > 0) {
    const message = `not ready after ${inWords(policy.vmProvisionTimeoutMs)}: ${steadyOf(standing)}`
    return { ...work, standing: failed('Timeout', message), ...(leftMs > 0 && { wake }) }
  }
  if (kicks.count >= policy.kickLimit)
    return { ...work, standing: failed('KickBudgetSpent', hung.givenUp(kicks.count, steadyOf(standing))) }
  const { uid } = hung.object.metadata
  const next = { count: kicks.count + 1, lastTime: toTime(now), ...(uid !== undefined && { [hung.noted]: uid }) }
  return kick(world, work, hung, next, now)
}
