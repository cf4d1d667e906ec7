import { ANNOTATIONS, type VirtualMachineStatus } from '@open-terrain/constructs'
import { DATA_VOLUME } from '../../../kube/resource-types.ts'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { referTo, removalOf } from '../../../runtime/plan.ts'
import { steadyOf } from '../../../runtime/standing.ts'
import { sooner } from '../../../runtime/wake.ts'
import type { MachineWorld } from '../world.ts'
import { isTrusted, standingInAbsence } from './absence.ts'
import { answers, refusedOf, standsStill } from './judge.ts'
import { failed, type MachineDraft, type Step, type Work, waiting } from './machine-plan.ts'
import { type Hung, hungPart } from './plan-hung.ts'
import type { MachineStanding } from './status.ts'

/** The source of a clone may disappear without a trigger for the machine. */
const CLONE_LOOK_MS = 60_000
export const CLONE_LOOK = {
  afterMs: CLONE_LOOK_MS,
  because: 'what the disk is cloned from may be gone by then',
} as const
/** How often a neighbour's Lease is read. */
const KNOWN_AGAIN = {
  afterMs: 10_000,
  because: 'it should be known by then whether what KubeVirt and CDI report is true',
}
const READY_BY_THEN = 'the machine should be ready by then'
const FIRST_RETRY_MS = 60_000
const RETRY_EVERY_MS = 300_000

type Kicks = NonNullable<VirtualMachineStatus['kicks']>

/** Judges a standing by how long it has lasted: a machine that hangs is kicked, within a budget, or fails. */
export function judged(draft: MachineDraft, standing: MachineStanding, work: Work): Step {
  const { world } = draft
  const { status } = world.vm
  if (standing.phase === 'Failed') return { ...work, standing }
  if (standing.phase === 'Ready') return { ...work, standing, status: { ...work.status, kicks: undefined } }
  // A change of the spec starts a new attempt.
  const kicks = isNewSpec(world) ? undefined : status.kicks
  const kept = { ...work, status: { ...work.status, kicks } }
  const absent = standingInAbsence(world, standing)
  if (absent !== undefined) return heldUp(absent, kept)
  return isSpared(world, standing) ? spared(draft, standing, kept) : timed(draft, standing, kept)
}

function isNewSpec({ vm: { status, metadata } }: MachineWorld): boolean {
  return status.observedGeneration !== metadata.generation
}

/** Judges a machine whose time runs. */
function timed(draft: MachineDraft, standing: MachineStanding, work: Work): Step {
  const { world, now } = draft
  const { policy, clone } = world
  const isNew = isNewSpec(world)
  const { kicks } = work.status ?? {}
  const began = (isNew ? undefined : fromTime(world.vm.status.provisioningSince)) ?? now
  // After each kick it has the whole time again.
  const endsAt = Math.max(began, fromTime(kicks?.lastTime) ?? began) + policy.vmProvisionTimeoutMs
  // What was reported counts until the last sign of who reports it.
  const leftMs = endsAt - knownUntil(world, now)
  const kept = { ...work, status: { ...work.status, provisioningSince: toTime(began) } }
  const hung = hungPart(world, work, now)
  const readyBy = endsAt > now ? { afterMs: endsAt - now, because: READY_BY_THEN } : KNOWN_AGAIN
  const unfinished = isNew ? undefined : unfinishedKick(draft, hung)
  if (unfinished !== undefined) {
    const remove = [...(work.remove ?? []), ...removalOf(unfinished.object, ...unfinished.onlyIf)]
    return leftMs > 0
      ? { ...kept, standing, remove, wake: readyBy }
      : kick(world, kept, unfinished, { count: 0, ...kicks, lastTime: toTime(now) })
  }
  if (leftMs <= 0) return overdue(draft, standing, kept, hung)
  const isCloning = clone !== undefined && clone.phase !== 'Succeeded'
  const wake = isCloning ? sooner(readyBy, CLONE_LOOK) : readyBy
  return { ...kept, standing, wake }
}

/** Returns what was to be kicked, and was not before a crash: it is kicked now, and counts once. */
function unfinishedKick({ world }: MachineDraft, hung: Hung | undefined): Hung | undefined {
  return hung?.isUnfinished && isTrusted(world, hung.reporter) ? hung : undefined
}

/** While a neighbour is away, no time runs and no disk is deleted: what it reported last may not be true any more. */
function heldUp(standing: MachineStanding, work: Work): Step {
  return { ...work, standing, remove: (work.remove ?? []).filter(({ kind }) => kind !== DATA_VOLUME.kind) }
}

/** Returns until when the neighbours that the machine waits for are known to have reported what is true. */
function knownUntil({ neighbours }: MachineWorld, now: number): number {
  return Math.min(now, ...Object.values(neighbours).map(({ workedUntil = now }) => workedUntil))
}

/** Returns the given time, or when a neighbour that the machine waits for was last away: nothing that it reported before shows how long something has lasted. */
function atLeastBack({ neighbours }: MachineWorld, since: number): number {
  return Math.max(since, ...Object.values(neighbours).map(({ awayAt = since }) => awayAt))
}

/** A guest that is paused or alive, or is to answer a probe, is not being provisioned. When it is not so any more, it gets the full timeout. */
function isSpared(world: MachineWorld, { reason }: MachineStanding): boolean {
  // If one of them is ready, the other one will be in a moment.
  const isNearly = world.instance?.isReady === true || world.machine?.isReady === true
  const isLate = !isNearly && (reason === 'NotReady' || reason === 'Stopping')
  return standsStill(world) || (answers(world) && isLate) || reason === 'WaitingForGuest'
}

/** The timeout starts at a timestamp of KubeVirt. The reason `Paused`, as for a pause by people, has no timeout. */
function spared({ world, now }: MachineDraft, standing: MachineStanding, work: Work): Step {
  const { machine, instance } = world
  if (standing.reason === 'Paused') return { ...work, standing }
  const since = standing.reason === 'PausedIOError' ? machine?.pause?.since : instance?.unreadySince
  const { ms, said } = patienceWith(world, standing)
  const endsAt = atLeastBack(world, since ?? now) + ms
  if (endsAt > knownUntil(world, now)) {
    const wake = endsAt > now ? { afterMs: endsAt - now, because: READY_BY_THEN } : KNOWN_AGAIN
    return { ...work, standing, wake }
  }
  const message = `not ready for ${inWords(ms)} (${said}): ${steadyOf(standing)}`
  return { ...work, standing: failed('Timeout', message) }
}

/** Returns how long a guest may be as it is, and who says so. */
function patienceWith({ policy, spec }: MachineWorld, { reason }: MachineStanding) {
  const seconds = reason === 'WaitingForGuest' && spec.ok ? spec.spec.readiness?.timeoutSeconds : undefined
  if (seconds === undefined) return { ms: policy.vmProvisionTimeoutMs, said: 'policy key vmProvisionTimeout' }
  return { ms: seconds * 1_000, said: 'spec.readiness.timeoutSeconds' }
}

function kick({ policy }: MachineWorld, work: Work, hung: Hung, kicks: Kicks): Step {
  const { vmProvisionTimeoutMs, kickLimit } = policy
  const message = `${hung.kicked(inWords(vmProvisionTimeoutMs))} (${kicks.count} of ${kickLimit})`
  return {
    ...work,
    standing: waiting('Kicked', message),
    remove: removalOf(hung.object),
    onlyIf: hung.onlyIf,
    status: { ...work.status, kicks },
    wake: { afterMs: vmProvisionTimeoutMs, because: READY_BY_THEN },
  }
}

/** Formats a duration in minutes, or in seconds if it is shorter than 2 minutes. */
function inWords(ms: number): string {
  return ms < 120_000 ? `${ms / 1_000} s` : `${Math.round(ms / 60_000)} min`
}

function overdue({ world, now }: MachineDraft, standing: MachineStanding, work: Work, found: Hung | undefined): Step {
  const { vm, policy, neighbours } = world
  const { kicks = { count: 0 } } = vm.status
  // A process that has just begun to ask does not know yet. What another one has found stays until then.
  const isUnsure = Object.values(neighbours).some(({ presence }) => presence === 'unsure')
  if (isUnsure && vm.status.phase !== 'Failed') return { ...work, standing, wake: KNOWN_AGAIN }
  const hung = found !== undefined && isTrusted(world, found.reporter) ? found : undefined
  // A part that has just begun, or made progress, gets the full timeout from then on.
  const endsAt = hung === undefined ? now : atLeastBack(world, hung.since) + policy.vmProvisionTimeoutMs
  const leftMs = hung === undefined ? 0 : endsAt - knownUntil(world, now)
  const wake =
    endsAt > now ? { afterMs: endsAt - now, because: 'it has had the whole time to get further' } : KNOWN_AGAIN
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
