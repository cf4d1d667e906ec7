import {
  VIRTUAL_MACHINE_CONDITIONS as TYPE,
  type VirtualMachinePhase,
  type VirtualMachineReason,
  type VirtualMachineStatus,
} from '@open-terrain/constructs'
import { isOrphaned } from '../../../cluster/ownership.ts'
import { cutMessage, fromTime, mergeConditions, withoutUndefined } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { courseConditions, newCondition, reasonOf, type Standing } from '../../../runtime/standing.ts'
import type { MachineWorld } from '../world.ts'

/** The state of a machine, in the words that people read. */
export type MachineStanding = Standing<VirtualMachinePhase, VirtualMachineReason>

/** Something that people should know in addition to the standing. */
export interface Remark {
  readonly type: (typeof REMARKS)[number]
  readonly reason: VirtualMachineReason
  readonly message: string
}

export interface MachineStatusFacts {
  readonly standing: MachineStanding
  readonly image: VirtualMachineStatus['image']
  /** Whether a disk can be cloned from the image. */
  readonly imageReady: { readonly holds: boolean; readonly reason: VirtualMachineReason; readonly message: string }
  readonly remarks: readonly Remark[]
  readonly generation: number | undefined
}

const REMARKS = ['SpecWarning', 'ImageMismatch', 'FullCopy', 'RestartRequired', 'RebuildRequired'] as const

export function isRemark({ type }: { readonly type: string }): boolean {
  return REMARKS.some((one) => one === type)
}

/** What a running machine may wait for, the costlier first. */
const PENDING: readonly string[] = ['RebuildRequired', 'RestartRequired']

/** Adds to the standing of a running machine what it waits for. The first of these gives the reason. */
export function withPending(standing: MachineStanding, remarks: readonly Remark[]): MachineStanding {
  const pending = PENDING.flatMap((type) => remarks.filter((remark) => remark.type === type))
  const [first] = pending
  if (standing.reason !== 'Running' || first === undefined) return standing
  const message = [standing.message, ...pending.map((remark) => remark.message)].join('; ')
  return { ...standing, reason: first.reason, message }
}

/** Completes a status: phase, message and conditions, with times that only move when something changed. */
export function withMachineStanding(
  status: VirtualMachineStatus,
  facts: MachineStatusFacts,
  now: number,
): VirtualMachineStatus {
  const { image, imageReady, remarks, generation } = facts
  const standing = { ...facts.standing, message: cutMessage(facts.standing.message) }
  const { phase, reason, message } = standing
  const isBusy = phase === 'Provisioning'
  const conditions = [
    newCondition(TYPE.Ready, phase === 'Ready', standing),
    newCondition(TYPE.ImageReady, imageReady.holds, imageReady),
    ...courseConditions(standing, { isBusy, isStalled: phase === 'Failed', isSettled: !isBusy }),
    ...remarks.map(({ type, ...remark }) =>
      newCondition(type, true, { ...remark, message: cutMessage(remark.message) }),
    ),
  ]
  const before = (status.conditions ?? []).filter(
    (condition) => !isRemark(condition) || remarks.some(({ type }) => type === condition.type),
  )
  return withoutUndefined({
    ...status,
    observedGeneration: generation,
    phase,
    reason,
    message,
    image,
    conditions: mergeConditions(before, conditions, generation, now),
  })
}

/** Returns the claim of a disk whose DataVolume somebody deleted without the claim. It is not deleted with the machine. */
export function leftClaim({ clone, claim }: Pick<MachineWorld, 'clone' | 'claim'>): string | undefined {
  const isLeft = clone === undefined && claim !== undefined && isOrphaned(claim)
  return isLeft && claim.metadata.deletionTimestamp === undefined
    ? `PersistentVolumeClaim ${claim.metadata.name}`
    : undefined
}

const WARNINGS: ReadonlySet<string> = new Set([
  'ImageFailed',
  'ImageTerminating',
  'ImageNotFound',
  'CloneFailed',
  'CloneSourceGone',
  'StartFailed',
  'CrashLoop',
  'Kicked',
  'NetworkMissing',
  'PodNotStarting',
  'PausedIOError',
  'Unschedulable',
  'Timeout',
  'KickBudgetSpent',
  'NameConflict',
  'InvalidSpec',
  'MissingPasswordSecret',
  'KubeVirtMissing',
  'CDIMissing',
  'NamespaceTerminating',
  'Refused',
])

export function isTrouble(reason: string | undefined): boolean {
  return reason !== undefined && WARNINGS.has(reason)
}

/** Reasons of the condition ImageReady. */
const LOSING: ReadonlySet<string> = new Set(['ImageMissing', 'ImageTerminating', 'NamespaceTerminating'])

/**
 * Returns the Events for what changed between two statuses, for people who read `kubectl describe`.
 * @param steady the message without its changing parts: with a time in it, each attempt would be a new Event instead of a repetition
 */
export function machineEventsBetween(
  before: VirtualMachineStatus,
  after: VirtualMachineStatus,
  steady = after.message ?? '',
): EventNote[] {
  const reason = reasonOf(after)
  const changed = changedReason(before, after, steady)
  const image = (status: VirtualMachineStatus) => status.conditions?.find(({ type }) => type === TYPE.ImageReady)
  const [was, is] = [image(before), image(after)]
  // A machine that has a disk does not wait for its image any more, but still gets an Event when the image goes.
  const isLosing = is !== undefined && is.reason !== was?.reason && is.reason !== reason && LOSING.has(is.reason)
  const losing: EventNote[] = isLosing ? [{ type: 'Warning', reason: is.reason, message: is.message }] : []
  const known = new Map((before.conditions ?? []).map((one) => [one.type, one.message]))
  const remarks = (after.conditions ?? []).filter((one) => isRemark(one) && known.get(one.type) !== one.message)
  return [
    ...changed,
    ...losing,
    ...remarks.map((one): EventNote => ({ type: 'Warning', reason: one.reason, message: one.message })),
  ]
}

/** Trouble gets an Event for each reason. Anything else gets one at its beginning and its end: the status shows the steps between. */
function changedReason(before: VirtualMachineStatus, after: VirtualMachineStatus, message: string): EventNote[] {
  const [was, is] = [before, after].map((status) => withoutPending(reasonOf(status)))
  if (is === undefined || is === was) return []
  if (isTrouble(is)) return [{ type: 'Warning', reason: is, message }]
  const isStep = before.phase === after.phase && after.phase === 'Provisioning'
  return isStep ? [] : [{ type: 'Normal', reason: is, message }]
}

/** What a running machine waits for is reported as a remark. */
function withoutPending(reason: string | undefined): string | undefined {
  return reason !== undefined && PENDING.includes(reason) ? 'Running' : reason
}

/** Returns the log fields of a change of state: the image, how long provisioning has taken so far, and the number of kicks. */
export function logFacts({ image, provisioningSince, kicks }: VirtualMachineStatus, now: number) {
  const since = fromTime(provisioningSince)
  return withoutUndefined({
    image: image && `${image.namespace}/${image.name}`,
    durationSeconds: since === undefined ? undefined : Math.max(0, Math.round((now - since) / 1_000)),
    kicks: kicks?.count,
  })
}
