import { ANNOTATIONS } from '@open-terrain/constructs'
import type { VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { fromTime, toTime } from '../../../base/time.ts'
import { DATA_VOLUME } from '../../../kube/resource-types.ts'
import { referTo, removalOf } from '../../../runtime/plan.ts'
import { type Requeue, sooner } from '../../../runtime/requeue.ts'
import { steadyOf } from '../../../runtime/summary.ts'
import type { MachineWorld } from '../world.ts'
import { isTrusted, summaryInAbsence } from './absence.ts'
import { answers, refusedOf, standsStill } from './judge.ts'
import { failed, type MachineDraft, type Step, type Work, waiting } from './machine-plan.ts'
import { type Hung, hungPart } from './plan-hung.ts'
import type { MachineSummary } from './status.ts'

/** The source of a clone may disappear without a trigger for the machine. */
const CLONE_LOOK_MS = 60_000
export const CLONE_REQUEUE = {
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

/** A time that runs for a machine, and what is done when it is over. At most one runs at a time. */
interface Deadline {
  /** Wall clock, in milliseconds, like all times here. */
  readonly since: number
  readonly limitMs: number
  readonly remedy: Remedy
  /** Since when the machine is provisioned, for the status. Undefined: its guest is alive, or is to answer a probe, so it is not being provisioned. */
  readonly provisioningSince: number | undefined
  /** What has not happened when it is over. */
  readonly missed: string
}

type Remedy =
  /** The machine fails. */
  | { readonly is: 'fail' }
  /** What hangs is deleted, within a budget. It gets the full timeout too, from when it made no progress any more. */
  | { readonly is: 'kick'; readonly hung: Hung }
  /** What hangs was to be kicked, and was not before a crash: it is kicked now, and counts once. */
  | { readonly is: 'finishKick'; readonly hung: Hung }

/** Judges a summary by how long it has lasted: a machine that hangs is kicked, within a budget, or fails. */
export function judged(draft: MachineDraft, summary: MachineSummary, work: Work): Step {
  const { world } = draft
  const { status } = world.vm
  if (summary.phase === 'Failed') return { ...work, summary }
  if (summary.phase === 'Ready') return { ...work, summary, status: { ...work.status, kicks: undefined } }
  // A change of the spec starts a new attempt.
  const kicks = isNewSpec(world) ? undefined : status.kicks
  const kept = { ...work, status: { ...work.status, kicks } }
  const absent = summaryInAbsence(world, summary)
  if (absent !== undefined) return heldUp(absent, kept)
  const deadline = deadlineOf(draft, summary, kept)
  if (deadline === undefined) return { ...kept, summary }
  const isOver = endOf(deadline) <= knownUntil(draft)
  return isOver ? atItsEnd(draft, summary, kept, deadline) : beforeItsEnd(draft, summary, kept, deadline)
}

function isNewSpec({ vm: { status, metadata } }: MachineWorld): boolean {
  return status.observedGeneration !== metadata.generation
}

/** While a neighbour is away, no time runs and no disk is deleted: what it reported last may not be true any more. */
function heldUp(summary: MachineSummary, work: Work): Step {
  return { ...work, summary, remove: (work.remove ?? []).filter(({ kind }) => kind !== DATA_VOLUME.kind) }
}

/** Returns the time that runs for a machine that is neither ready nor failed. Undefined: none does, since people have paused the guest, or a migration has. */
function deadlineOf(draft: MachineDraft, summary: MachineSummary, work: Work): Deadline | undefined {
  const { world } = draft
  if (!isSpared(world, summary)) return deadlineOfProvisioning(draft, work)
  return summary.reason === 'Paused' ? undefined : deadlineOfGuest(draft, summary)
}

/** A guest that is paused or alive, or is to answer a probe, is not being provisioned. When it is not so any more, it gets the full timeout. */
function isSpared(world: MachineWorld, { reason }: MachineSummary): boolean {
  // If one of them is ready, the other one will be in a moment.
  const isNearly = world.instance?.isReady === true || world.machine?.isReady === true
  const isLate = !isNearly && (reason === 'NotReady' || reason === 'Stopping')
  return standsStill(world) || (answers(world) && isLate) || reason === 'WaitingForGuest'
}

function deadlineOfProvisioning({ world, now }: MachineDraft, work: Work): Deadline {
  const { vm, policy } = world
  const began = (isNewSpec(world) ? undefined : fromTime(vm.status.provisioningSince)) ?? now
  const limitMs = policy.vmProvisionTimeoutMs
  return {
    // After each kick it has the whole time again.
    since: Math.max(began, fromTime(work.status?.kicks?.lastTime) ?? began),
    limitMs,
    remedy: remedyFor(world, hungPart(world, work, now)),
    provisioningSince: began,
    missed: `not ready after ${inWords(limitMs)} (policy key vmProvisionTimeout)`,
  }
}

function remedyFor(world: MachineWorld, hung: Hung | undefined): Remedy {
  if (hung === undefined || !isTrusted(world, hung.reporter)) return { is: 'fail' }
  return { is: hung.isUnfinished && !isNewSpec(world) ? 'finishKick' : 'kick', hung }
}

/** It starts at a timestamp of KubeVirt. */
function deadlineOfGuest({ world, now }: MachineDraft, { reason }: MachineSummary): Deadline {
  const { machine, instance, policy, spec } = world
  const since = reason === 'PausedIOError' ? machine?.pause?.since : instance?.unreadySince
  const seconds = reason === 'WaitingForGuest' && spec.ok ? spec.spec.readiness?.timeoutSeconds : undefined
  const [limitMs, said] =
    seconds === undefined
      ? [policy.vmProvisionTimeoutMs, 'policy key vmProvisionTimeout']
      : [seconds * 1_000, 'spec.readiness.timeoutSeconds']
  return {
    since: atLeastBack(world, since ?? now),
    limitMs,
    remedy: { is: 'fail' },
    provisioningSince: undefined,
    missed: `not ready for ${inWords(limitMs)} (${said})`,
  }
}

/** Returns the given time, or when a neighbour that the machine waits for was last away: nothing that it reported before shows how long something has lasted. */
function atLeastBack({ neighbours }: MachineWorld, since: number): number {
  return Math.max(since, ...Object.values(neighbours).map(({ awayAt = since }) => awayAt))
}

/** Returns until when the neighbours that the machine waits for are known to have reported what is true. What was reported counts until then. */
function knownUntil({ world: { neighbours }, now }: MachineDraft): number {
  return Math.min(now, ...Object.values(neighbours).map(({ workedUntil = now }) => workedUntil))
}

function endOf({ since, limitMs }: Pick<Deadline, 'since' | 'limitMs'>): number {
  return since + limitMs
}

function requeueAt(end: number, now: number, because: string): Requeue {
  return end > now ? { afterMs: end - now, because } : KNOWN_AGAIN
}

function beforeItsEnd(draft: MachineDraft, summary: MachineSummary, work: Work, deadline: Deadline): Step {
  const { remedy, provisioningSince } = deadline
  const { clone } = draft.world
  const kept = { ...withBegin(work, deadline), summary }
  const requeue = requeueAt(endOf(deadline), draft.now, READY_BY_THEN)
  if (remedy.is === 'finishKick')
    return {
      ...kept,
      remove: [...(work.remove ?? []), ...removalOf(remedy.hung.object, ...remedy.hung.onlyIf)],
      requeue,
    }
  const isCloning = provisioningSince !== undefined && clone !== undefined && clone.phase !== 'Succeeded'
  return { ...kept, requeue: isCloning ? sooner(requeue, CLONE_REQUEUE) : requeue }
}

function withBegin(work: Work, { provisioningSince }: Deadline): Work {
  if (provisioningSince === undefined) return work
  return { ...work, status: { ...work.status, provisioningSince: toTime(provisioningSince) } }
}

function atItsEnd(draft: MachineDraft, summary: MachineSummary, work: Work, deadline: Deadline): Step {
  const { world, now } = draft
  const kept = withBegin(work, deadline)
  const { remedy, provisioningSince } = deadline
  if (remedy.is === 'finishKick')
    return kick(world, kept, remedy.hung, { count: 0, ...work.status?.kicks, lastTime: toTime(now) })
  // A process that has just begun to ask does not know yet. What another one has found stays until then.
  const isUnsure = Object.values(world.neighbours).some(({ presence }) => presence === 'unsure')
  if (provisioningSince !== undefined && isUnsure && world.vm.status.phase !== 'Failed')
    return { ...kept, summary, requeue: KNOWN_AGAIN }
  const over = { ...kept, summary: failed('Timeout', `${deadline.missed}: ${steadyOf(summary)}`) }
  if (remedy.is === 'fail') return over
  const { hung } = remedy
  // A part that has just begun, or made progress, gets the full timeout from then on.
  const end = endOf({ since: atLeastBack(world, hung.since), limitMs: deadline.limitMs })
  const leftMs = end - knownUntil(draft)
  if (leftMs <= 0) return kickWithinBudget(draft, summary, kept, hung)
  const requeue = requeueAt(end, now, 'it has had the whole time to get further')
  // A clone starts a moment after the machine's time does. During that moment, a clone that hangs is not reported as a failure.
  return leftMs <= CLONE_LOOK_MS ? { ...kept, summary, requeue } : { ...over, requeue }
}

function kickWithinBudget({ world, now }: MachineDraft, summary: MachineSummary, work: Work, hung: Hung): Step {
  const { count } = world.vm.status.kicks ?? { count: 0 }
  if (count >= world.policy.kickLimit)
    return { ...work, summary: failed('KickBudgetSpent', hung.givenUp(count, steadyOf(summary))) }
  const { uid } = hung.object.metadata
  const kicks = { count: count + 1, lastTime: toTime(now), ...(uid !== undefined && { [hung.noted]: uid }) }
  return kick(world, work, hung, kicks)
}

function kick({ policy }: MachineWorld, work: Work, hung: Hung, kicks: Kicks): Step {
  const { vmProvisionTimeoutMs, kickLimit } = policy
  const message = `${hung.kicked(inWords(vmProvisionTimeoutMs))} (${kicks.count} of ${kickLimit})`
  return {
    ...work,
    summary: waiting('Kicked', message),
    remove: removalOf(hung.object),
    onlyIf: hung.onlyIf,
    status: { ...work.status, kicks },
    requeue: { afterMs: vmProvisionTimeoutMs, because: READY_BY_THEN },
  }
}

/** Formats a duration in minutes, or in seconds if it is shorter than 2 minutes. */
function inWords(ms: number): string {
  return ms < 120_000 ? `${ms / 1_000} s` : `${Math.round(ms / 60_000)} min`
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
  const requeue = sooner(step.requeue, { afterMs, because: 'KubeVirt should try again by then' })
  if (leftMs > 0) return { ...step, requeue }
  return { ...step, requeue, touch: [{ ...referTo(refused), annotations: { [ANNOTATIONS.retriedAt]: toTime(now) } }] }
}
