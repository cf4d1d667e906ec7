import { isDeepStrictEqual } from 'node:util'
import {
  hasRun,
  type Instance,
  isFinal,
  type Machine,
  type MachineFailure,
  type MachineStatus,
  type StartFailure,
} from './kubevirt-models.ts'
import { GENERATION } from './kubevirt-objects.ts'
import { hasError, isProvisioning, type MachineDisk } from './kubevirt-volumes.ts'
import { type Condition, isTerminating, uidOf } from './models.ts'

/** A condition as `[type, status, reason, message]`. */
export type ShortCondition = readonly [type: string, status: 'True' | 'False', reason?: string, message?: string]

export interface MachineSituation {
  readonly machine: Machine
  readonly instance: Instance | undefined
  readonly disks: readonly MachineDisk[]
  readonly startFailure: StartFailure | undefined
  /** Why the instance could not be created, or changed. */
  readonly failure: MachineFailure | undefined
  /** Why the running instance is not what the template asks for. */
  readonly restartRequired: string | undefined
}

const MOST_BACKOFF_JITTER = 0.5

/** Returns the status that KubeVirt shows in a situation, or the previous object itself if nothing changed. */
export function machineStatusIn(situation: MachineSituation, now: string): MachineStatus {
  const { machine, instance, startFailure } = situation
  const previous = machine.status ?? {}
  const conditions = withTimes(conditionsOf(situation), previous.conditions ?? [], now)
  const requests = (machine.status?.stateChangeRequests ?? []).filter(({ action, uid }) =>
    action === 'Start' ? instance === undefined : instance !== undefined && uid === uidOf(instance),
  )
  const observed = instance?.metadata.annotations?.[GENERATION]
  const next: MachineStatus = {
    ...(instance !== undefined && { created: true }),
    ...(isReady(instance) && { ready: true }),
    printableStatus: printableStatusOf(situation),
    ...(machine.spec.runStrategy !== undefined && { runStrategy: machine.spec.runStrategy }),
    ...(observed !== undefined && { observedGeneration: Number(observed) }),
    desiredGeneration: machine.metadata.generation ?? 1,
    ...(startFailure && { startFailure }),
    ...(requests.length > 0 && { stateChangeRequests: requests }),
    ...(previous.restoreInProgress !== undefined && { restoreInProgress: previous.restoreInProgress }),
    ...(previous.snapshotInProgress !== undefined && { snapshotInProgress: previous.snapshotInProgress }),
    conditions,
  }
  return isDeepStrictEqual(previous, next) ? previous : next
}

/** Returns the first status that applies, in KubeVirt's order. WaitingForReceiver does not occur here. */
function printableStatusOf({ machine, instance, disks, startFailure }: MachineSituation): string {
  const isAlive = instance !== undefined && !isFinal(instance)
  const isRunning = instance?.status?.phase === 'Running'
  const synchronized = conditionOf(instance, 'Synchronized')
  const scheduled = conditionOf(instance, 'PodScheduled')
  const isUnbound = disks.some(({ claim }) => claim !== undefined && claim.status?.phase !== 'Bound')
  const table: readonly (readonly [string, boolean])[] = [
    ['Terminating', isTerminating(machine)],
    ['Stopping', isAlive && isTerminating(instance)],
    ['Migrating', isRunning && instance.status?.migrationState?.completed === false],
    ['Paused', isRunning && conditionOf(instance, 'Paused')?.status === 'True'],
    ['Running', isRunning],
    ['ErrorPvcNotFound', synchronized?.reason === 'FailedPvcNotFound'],
    ['DataVolumeError', disks.some(hasError)],
    ['ErrorUnschedulable', scheduled?.status === 'False' && scheduled.reason === 'Unschedulable'],
    ['Provisioning', disks.some(isProvisioning)],
    ['WaitingForVolumeBinding', isAlive && isUnbound],
    ['ErrImagePull', synchronized?.reason === 'ErrImagePull'],
    ['ImagePullBackOff', synchronized?.reason === 'ImagePullBackOff'],
    ['Starting', isAlive],
    ['CrashLoopBackOff', startFailure !== undefined && restarts(machine)],
    ['Stopped', true],
  ]
  return table.find(([, holds]) => holds)?.[0] ?? 'Unknown'
}

/** Reports whether KubeVirt starts the machine again after a failed start. */
export function restarts({ spec }: Machine): boolean {
  return spec.runStrategy === 'Always' || spec.runStrategy === 'RerunOnFailure'
}

/** Conditions of the virtual machine itself. All others are those of its instance. */
const OWN: ReadonlySet<string> = new Set(['Ready', 'Failure', 'RestartRequired'])

/** Under `Manual`, KubeVirt starts only when virtctl requests it. */
export function hasStartRequest({ status }: Machine): boolean {
  return (status?.stateChangeRequests ?? []).some(({ action }) => action === 'Start')
}

export function hasStopRequest({ spec, status }: Machine, instance: Instance): boolean {
  // `virtctl restart` asks to stop and to start, under any strategy that lets a guest run.
  if (spec.runStrategy === 'Halted') return false
  return (status?.stateChangeRequests ?? []).some(({ action, uid }) => action === 'Stop' && uid === uidOf(instance))
}

function conditionsOf({ machine, instance, failure, restartRequired }: MachineSituation): ShortCondition[] {
  const before = machine.status?.conditions ?? []
  // The last conditions of an instance stay until another instance reports its own.
  const said =
    instance === undefined ? before.filter(({ type }) => !OWN.has(type)) : (instance.status?.conditions ?? [])
  const copied = said.map(shortened)
  if (conditionOf(instance, 'Ready') === undefined) copied.unshift(notReady(instance))
  if (failure !== undefined) copied.push(failed(failure, before))
  if (restartRequired !== undefined) copied.push(['RestartRequired', 'True', 'RestartRequired', restartRequired])
  return copied
}

export function shortened({ type, status, reason, message }: Condition): ShortCondition {
  return [type, status === 'True' ? 'True' : 'False', reason, message]
}

/** The first message stays as long as the reason does. Only events have newer messages. */
function failed({ reason, message }: MachineFailure, before: readonly Condition[]): ShortCondition {
  const first = before.find((one) => one.type === 'Failure' && one.status === 'True' && one.reason === reason)
  return ['Failure', 'True', reason, first?.message ?? message]
}

function notReady(instance: Instance | undefined): ShortCondition {
  return instance === undefined
    ? ['Ready', 'False', 'VMINotExists', 'VMI does not exist']
    : ['Ready', 'False', 'GuestNotRunning', 'Guest VM is not reported as running']
}

function isReady(instance: Instance | undefined): boolean {
  return conditionOf(instance, 'Ready')?.status === 'True'
}

export function conditionOf(object: Machine | Instance | undefined, type: string): Condition | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type)
}

/** Adds transition times. A condition whose status did not change keeps its time. */
export function withTimes(
  conditions: readonly ShortCondition[],
  previous: readonly Condition[],
  now: string,
): readonly Condition[] {
  return conditions.map(([type, status, reason, message]) => {
    const before = previous.find((one) => one.type === type)
    const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now
    return { type, status, lastTransitionTime, ...(reason && { reason }), ...(message && { message }) }
  })
}

export interface BackoffRule {
  readonly startBackoffMs: number
  readonly startBackoffMaxMs: number
}

/**
 * Returns the record of failed starts after `instance` is observed. Only an instance whose guest never ran counts, and
 * only once. A guest that runs clears the record.
 * @param nowMs wall clock, milliseconds since the epoch
 */
export function startFailureAfter(
  before: StartFailure | undefined,
  instance: Instance | undefined,
  rule: BackoffRule,
  nowMs: number,
  random: () => number,
): StartFailure | undefined {
  if (instance === undefined) return before
  if (hasRun(instance)) return undefined
  if (instance.status?.phase !== 'Failed' || before?.lastFailedVMIUID === uidOf(instance)) return before
  const failures = (before?.consecutiveFailCount ?? 0) + 1
  const waitMs = rule.startBackoffMs * failures ** 2 * (1 + MOST_BACKOFF_JITTER * random())
  const retryAt = new Date(nowMs + Math.min(rule.startBackoffMaxMs, waitMs))
  return {
    consecutiveFailCount: failures,
    lastFailedVMIUID: uidOf(instance),
    retryAfterTimestamp: retryAt.toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}
