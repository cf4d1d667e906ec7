import { ANNOTATIONS, type VirtualMachineStatus } from '@open-terrain/constructs'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { referTo, removalOf } from '../../../runtime/plan.ts'
import { steadyOf } from '../../../runtime/standing.ts'
import { sooner } from '../../../runtime/wake.ts'
import type { MachineWorld } from '../world.ts'
import { answers, refusedOf, standsStill } from './judge.ts'
import { failed, type MachineDraft, type Step, type Work, waiting } from './machine-plan.ts'
import { type Hung, hungPart } from './plan-hung.ts'
import type { MachineStanding } from './status.ts'

/** The source of a clone may disappear without a trigger for the machine. */
const CLONE_LOOK_MS = 60_000
const READY_BY_THEN = 'the machine should be ready by then'
const FIRST_RETRY_MS = 60_000
const RETRY_EVERY_MS = 300_000

type Kicks = NonNullable<VirtualMachineStatus['kicks']>

/** Judges a standing by how long it has lasted: a machine that hangs is kicked, within a budget, or fails. */
export function judged(draft: MachineDraft, standing: MachineStanding, work: Work): Step {
  const { world, now } = draft
  const { policy, clone } = world
  const { metadata, status } = world.vm
  if (standing.phase === 'Failed') return { ...work, standing }
  if (standing.phase === 'Ready') return { ...work, standing, status: { ...work.status, kicks: undefined } }
  // A change of the spec starts a new attempt.
  const isNewSpec = status.observedGeneration !== metadata.generation
  const kicks = isNewSpec ? undefined : status.kicks
  if (isSpared(world, standing)) return spared(draft, standing, { ...work, status: { ...work.status, kicks } })
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
  if (leftMs <= 0) return overdue(draft, standing, kept, hung)
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
function spared({ world, now }: MachineDraft, standing: MachineStanding, work: Work): Step {
  const { policy, machine, instance } = world
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

function overdue({ world, now }: MachineDraft, standing: MachineStanding, work: Work, hung: Hung | undefined): Step {
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

/**
 * KubeVirt retries what was refused with a back-off that doubles up to 1,000 s, and is not notified when the cause is gone. It retries at once
 * when the object changes. So the object gets an annotation after waits of 1, 2 and 4 minutes, then every 5 minutes while the refusal lasts.
 */
export function withRetry({ world, now }: MachineDraft, step: Step): Step {
  const refused = refusedOf(world)
  if (refused === undefined) return step
  const { annotations, creationTimestamp } = refused.metadata
  const since = world.machine?.refusedSince ?? fromTime(creationTimestamp) ?? now
  const last = Math.max(since, fromTime(annotations?.[ANNOTATIONS.retriedAt]) ?? since)
  const leftMs = last + Math.min(RETRY_EVERY_MS, last - since + FIRST_RETRY_MS) - now
  const afterMs = leftMs > 0 ? leftMs : FIRST_RETRY_MS
  const wake = sooner(step.wake, { afterMs, because: 'KubeVirt should try again by then' })
  if (leftMs > 0) return { ...step, wake }
  return { ...step, wake, touch: [{ ...referTo(refused), annotations: { [ANNOTATIONS.retriedAt]: toTime(now) } }] }
}
