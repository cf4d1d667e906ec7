import {
  type PassingIn,
  VIRTUAL_MACHINE_CONDITIONS as TYPE,
  VIRTUAL_MACHINE_CONDITION_RULES,
  type VirtualMachinePhase,
  type VirtualMachineReason,
  type VirtualMachineStatus,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { fromTime } from '../../../base/time.ts'
import { isOrphaned } from '../../../cluster/ownership.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import {
  conditionsOf,
  cutMessage,
  type KindConditions,
  type SayingOf,
  type Sayings,
  saying,
} from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { type StatusThrottle, throttleBetween } from '../../../runtime/requeue.ts'
import { courseConditions, reasonOf, type Summary } from '../../../runtime/summary.ts'
import type { MachineWorld } from '../world.ts'

/** The state of a machine, in the words that people read. */
export type MachineSummary = Summary<VirtualMachinePhase, VirtualMachineReason>

type Rules = typeof VIRTUAL_MACHINE_CONDITION_RULES
type RemarkType = PassingIn<Rules>

/** Something that people should know in addition to the summary: each is a condition, with one of its reasons. */
export type Remark = { [Type in RemarkType]: RemarkOn<Type> }[RemarkType]

interface RemarkOn<Type extends RemarkType> {
  readonly type: Type
  readonly reason: Rules[Type]['reasons'][number]
  readonly message: string
  /** How many things its message says. */
  readonly count?: number
  /** Whether it says nothing about the disk. */
  readonly isAside?: true
}

export interface MachineStatusFacts {
  readonly summary: MachineSummary
  readonly image: VirtualMachineStatus['image']
  /** Whether a disk can be cloned from the image. */
  readonly imageReady: { readonly holds: boolean; readonly reason: VirtualMachineReason; readonly message: string }
  readonly remarks: readonly Remark[]
  /** Default: as it is. */
  readonly upToDate?: SayingOf<Rules['UpToDate'], VirtualMachineReason>
  readonly generation: number | undefined
}

/** Looked up by the type of any condition: another version may have written more. */
const BY_TYPE: KindConditions = VIRTUAL_MACHINE_CONDITION_RULES

function isRemark({ type }: { readonly type: string }): boolean {
  return BY_TYPE[type]?.presence === 'passing'
}

/** Reports whether it is a remark that reports no trouble: the gauges do not count it. */
function isNews(condition: { readonly type: string }): boolean {
  return isRemark(condition) && BY_TYPE[condition.type]?.gauge === 'none'
}

/** What a running machine may wait for, the costlier first. */
const PENDING: ReadonlySet<string | undefined> = new Set<RemarkType>([
  'ImageMismatch',
  'Replacing',
  'RebuildRequired',
  'RestartRequired',
  'NamesNotCurrent',
])

/**
 * Adds to the summary of a running machine what it waits for. The first of these gives the reason. That its image is not the one that was asked for
 * is said before all else, also while it is off: the user who had the image created decides what runs.
 */
export function withPending(summary: MachineSummary, remarks: readonly Remark[]): MachineSummary {
  const { reason } = summary
  if (reason !== 'Running' && reason !== 'Halted') return summary
  const told = [...PENDING].flatMap((type) => remarks.filter((one) => one.type === type && one.isAside !== true))
  const pending = told.filter(({ type }) => reason === 'Running' || type === 'ImageMismatch')
  const [first] = pending
  if (first === undefined) return summary
  const isMismatch = ({ type }: Remark) => type === 'ImageMismatch'
  const texts = (remarks: readonly Remark[]) => remarks.map((one) => one.message)
  const others = pending.filter((one) => !isMismatch(one))
  const message = [...texts(pending.filter(isMismatch)), summary.message, ...texts(others)].join('; ')
  return { ...summary, reason: reason === 'Running' ? first.reason : reason, message }
}

/** Completes a status: phase, message and conditions, with times that only move when something changed. */
export function withMachineSummary(
  status: VirtualMachineStatus,
  facts: MachineStatusFacts,
  now: number,
): VirtualMachineStatus {
  const { image, imageReady, remarks, upToDate, generation } = facts
  const summary = { ...facts.summary, message: cutMessage(facts.summary.message) }
  const { phase, reason, message } = summary
  const isBusy = phase === 'Provisioning'
  const said: Sayings<Rules, VirtualMachineReason> = {
    Ready: saying(phase === 'Ready', summary),
    ImageReady: saying(imageReady.holds, imageReady),
    ...courseConditions(summary, { isBusy, isStalled: phase === 'Failed', isSettled: !isBusy }),
    UpToDate: upToDate && { ...upToDate, message: cutMessage(upToDate.message) },
    ...ofRemarks(remarks),
  }
  return withoutUndefined({
    ...status,
    observedGeneration: generation,
    phase,
    reason,
    message,
    image,
    warnings: remarks.find(({ type }) => type === TYPE.SpecWarning)?.count,
    conditions: conditionsOf(VIRTUAL_MACHINE_CONDITION_RULES, said, status.conditions, { generation, now }),
  })
}

/** In the order of the remarks. A remark that is not there is nothing that is said. */
function ofRemarks(remarks: readonly Remark[]): Pick<Sayings<Rules, VirtualMachineReason>, RemarkType> {
  const said = remarks.map(({ type, reason, message }) => [
    type,
    saying(true, { reason, message: cutMessage(message) }),
  ])
  return Object.fromEntries(said) as Pick<Sayings<Rules, VirtualMachineReason>, RemarkType>
}

/** Returns the claim of a disk whose DataVolume somebody deleted without the claim. It is not deleted with the machine. */
export function leftClaim({ clone, claim }: Pick<MachineWorld, 'clone' | 'claim'>): string | undefined {
  const isLeft = clone === undefined && claim !== undefined && isOrphaned(claim) && !isTerminating(claim)
  return isLeft ? `PersistentVolumeClaim ${claim.metadata.name}` : undefined
}

/** Reasons that report trouble. */
const TROUBLE: ReadonlySet<string | undefined> = new Set<VirtualMachineReason>([
  'ImageFailed',
  'ImageTerminating',
  'ImageNotFound',
  'CloneFailed',
  'CloneSourceGone',
  'DiskLost',
  'DiskBeingDeleted',
  'DiskMissing',
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
  'TooLarge',
  'MissingPasswordSecret',
  'MissingUserDataSecret',
  'KubeVirtMissing',
  'CDIMissing',
  'KubeVirtNotResponding',
  'CDINotResponding',
  'NamespaceTerminating',
  'Refused',
])

/** Reasons of the condition ImageReady. */
const LOSING: ReadonlySet<string | undefined> = new Set<VirtualMachineReason>([
  'ImageMissing',
  'ImageTerminating',
  'NamespaceTerminating',
])

/**
 * Returns the Events for what changed between two statuses, for people who read `kubectl describe`.
 * @param steady the message without its changing parts: with a time in it, each attempt would be a new Event instead of a repetition
 */
export function machineEventsBetween(
  before: VirtualMachineStatus,
  after: VirtualMachineStatus,
  steady = after.message ?? '',
): EventNote[] {
  const known = new Map((before.conditions ?? []).map((one) => [one.type, one]))
  const news = (after.conditions ?? []).filter((one) => {
    const { type, reason, message } = one
    const was = known.get(type)
    // The loss of a disk is the reason of the machine, too, unless it is not to be deployed.
    if (isRemark(one)) return message !== was?.message && !(type === TYPE.DiskLost && reason === reasonOf(after))
    // A machine that has a disk does not wait for its image any more, but still gets an Event when the image goes.
    return type === TYPE.ImageReady && reason !== was?.reason && reason !== reasonOf(after) && LOSING.has(reason)
  })
  const warnings = news.map((one): EventNote => {
    return { type: isNews(one) ? 'Normal' : 'Warning', reason: one.reason, message: one.message }
  })
  return [...changedReason(before, after, steady), ...warnings]
}

/** Trouble gets an Event for each reason. Anything else gets one at its beginning and its end: the status shows the steps between. */
function changedReason(before: VirtualMachineStatus, after: VirtualMachineStatus, message: string): EventNote[] {
  // What a running machine waits for is reported as a remark.
  const isPending = (one: string | undefined) => PENDING.has(one) || one === 'ReplacementBlocked'
  const [was, is] = [before, after].map(reasonOf).map((one) => (isPending(one) ? 'Running' : one))
  if (is === undefined || is === was) return []
  if (TROUBLE.has(is)) return [{ type: 'Warning', reason: is, message }]
  const isStep = before.phase === after.phase && after.phase === 'Provisioning'
  return isStep ? [] : [{ type: 'Normal', reason: is, message }]
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

/** Messages of other components about trouble may change all the time. */
const WORDS_EVERY_MS = 10_000
const MOVES_EVERY_MS = 30_000
/** If many machines wait for the same image, one write per second is enough for all of them together. */
const APART_MS = 1_000

/**
 * Decides when a status is written: the summary at once, texts that people must act upon every 10 s, what changes by itself every 30 s.
 * @param waiting number of machines that wait for the same image
 * @param isRemoving whether something is deleted by the same plan. Why is told before, at once: afterwards there are other words.
 */
export function machineThrottleOf(
  before: VirtualMachineStatus,
  after: VirtualMachineStatus,
  sinceWriteMs?: number,
  waiting = 1,
  isRemoving = false,
): StatusThrottle {
  // The first place in the queue is written at once. Its changes, and its absence for a while, are written with other changes.
  const isPlaceNew = hasPlace(after) && !hasPlace(before)
  const place = (status: VirtualMachineStatus) => isPlaceNew && hasPlace(status)
  const aspects = [[place, 0] as const, [summary, 0] as const, [words, isRemoving ? 0 : WORDS_EVERY_MS] as const]
  const movesEveryMs = Math.max(MOVES_EVERY_MS, waiting * APART_MS)
  return throttleBetween([before, after], aspects, movesEveryMs, sinceWriteMs, 'what has moved is written then')
}

function hasPlace({ image }: VirtualMachineStatus): boolean {
  return image?.queuePosition !== undefined
}

/** Returns everything except texts and the progress of a step. */
function summary(status: VirtualMachineStatus): unknown {
  const { message: _message, clone, image, kubevirt: _kubevirt, addresses, conditions, ...rest } = status
  return {
    ...rest,
    // Clients that wait for a machine read its addresses when it is ready.
    addresses: status.phase === 'Ready' ? addresses : undefined,
    clone: clone && { ...clone, uid: undefined, phase: undefined, progress: undefined, progressTime: undefined },
    image: image && { namespace: image.namespace, name: image.name },
    conditions: conditions?.map(({ type, status: holds, reason }) => [type, holds, reason].join()).toSorted(),
  }
}

/** Returns the texts that people must act upon. */
function words(status: VirtualMachineStatus): unknown {
  const { phase, message, conditions = [] } = status
  const isToActUpon = phase === 'Failed' || TROUBLE.has(reasonOf(status))
  return [isToActUpon && message, conditions.filter(isRemark).map((one) => one.message)]
}
