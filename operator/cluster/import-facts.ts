import { ANNOTATIONS } from '@open-terrain/constructs'
import type { Reason } from '@open-terrain/constructs/operator'
import { isTerminating, type KubeObject } from '../kube/kube-object.ts'
import type { ConditionView } from '../runtime/interned.ts'
import { claimMessageOf } from './claim-message.ts'
import { type ContainerEnd, hasCompleted } from './importer-container.ts'
import { podLimitsOf, type QuotaView } from './quotas.ts'
import type { DataVolumeView, PodView } from './views.ts'

/**
 * What a DataVolume and its importers tell about a download: whether it is finished, how much it has used, what it waits for and why it failed. CDI
 * restarts a failing importer forever, from the first byte, as `ImportInProgress`: none of this can be read from its phase alone.
 */

/** What was observed of an unfinished DataVolume over time; if it is gone, until then. */
export interface Observation {
  readonly dataVolumeUid: string | undefined
  /** Its importer pods, including those that have ended and those that are being deleted. */
  readonly importers: readonly PodView[]
  /** Milliseconds since this process first saw it, and since anything about its progress changed. */
  readonly seenMs: number
  readonly unchangedMs: number
  /** The importer pod that ran; if there were several, the latest. */
  readonly importerPodUid: string | undefined
  /** Downloads that its importers started, one for each container start; undefined if no importer was observed. */
  readonly starts: number | undefined
  /** An importer that ran is being deleted before it finished, or another one has replaced it. */
  readonly isImporterLost: boolean
  /** Why CDI cannot create the claim that it fills, if a live read found that. The DataVolume does not show it. */
  readonly claimRefusal?: string | undefined
}

export const NOTHING_SEEN: Observation = {
  dataVolumeUid: undefined,
  importers: [],
  seenMs: 0,
  unchangedMs: 0,
  importerPodUid: undefined,
  starts: undefined,
  isImporterLost: false,
}

/** Reports whether its importer can no longer download. Until then it counts against the limit; its slot is free with the next write of the ledger. */
export function isFinished(dataVolume: DataVolumeView): boolean {
  return dataVolume.phase === 'Succeeded' && !isImportingAgain(dataVolume)
}

/**
 * A download that just succeeded has Bound=False for a moment, at 100%. If its claim was deleted, CDI starts over: for
 * seconds it stays Succeeded and Ready, and only Bound=False with a progress other than 100% shows it.
 */
export function isImportingAgain({ bound, progress }: DataVolumeView): boolean {
  return bound.status === 'False' && bound.reason !== 'ClaimLost' && progress !== '' && !progress.startsWith('100')
}

/**
 * Reports whether an importer runs, and nothing shows how far it is: CDI reads its progress over the network, and reports `N/A` as long as it could not
 * read any. Unknown progress is not the same as none.
 */
export function isBlind({ progress, running }: DataVolumeView, { importers }: Pick<Observation, 'importers'>): boolean {
  const isRunning = running.status === 'True' || importers.some(({ importer }) => importer.isRunning)
  return isRunning && !hasProgress(progress)
}

/** Reports whether a progress of CDI is a number, such as `42.1%`. */
function hasProgress(progress: string): boolean {
  return /^\d/.test(progress)
}

/**
 * Returns the downloads used: each importer that ran is one, and each restart began at the first byte. CDI may report more than its pods showed.
 * @param starts undefined if no pod was observed
 */
export function downloadsOf(dataVolume: DataVolumeView, starts: number | undefined): number {
  const { phase, running, restartCount } = dataVolume
  const isRunReported =
    restartCount > 0 ||
    running.status === 'True' ||
    (isFailureReported(running) && starts !== 0) ||
    RUN_PHASES.has(phase) ||
    RUN_REASONS.has(running.reason)
  return Math.max(starts ?? 0, isRunReported ? 1 + restartCount : 0)
}

const RUN_PHASES: ReadonlySet<string> = new Set(['ImportInProgress', 'Succeeded', 'Failed'])
const RUN_REASONS: ReadonlySet<string> = new Set(['OOMKilled', 'ChecksumError'])

/** Reports whether CDI still shows nothing for the DataVolume. */
export function isUnreported({ phase, bound, running }: DataVolumeView): boolean {
  return phase === '' && bound.status === '' && running.status === ''
}

/** Returns what a download waits for while its importer does not run yet, as text after "waiting for". */
export function awaitedBy(
  dataVolume: DataVolumeView,
  { claimRefusal, importers }: Pick<Observation, 'claimRefusal' | 'importers'>,
): string {
  const { phase, running } = dataVolume
  if (claimRefusal !== undefined) return `its volume (${claimRefusal})`
  // CDI creates the next pod only when this one is gone, and shows its last state until then. On a lost node that takes long.
  if (importers.length > 0 && importers.every(isTerminating))
    return 'its importer pod, which is being deleted, to be gone'
  if (isUnreported(dataVolume)) return 'CDI to act on its DataVolume'
  if (phase === 'PendingPopulation') return 'the first consumer of its volume'
  switch (running.reason) {
    case 'ImagePullFailed':
      return `the importer's container image (${running.message})`
    case 'Unschedulable':
      return 'a node that has room for the importer pod, and its volume'
    case 'Scratch space required':
      return 'a volume with scratch space'
    case '':
    case 'Completed':
      break
    case 'ContainerCreating':
    case 'PodInitializing':
      return 'its importer pod to start'
    default:
      return `its importer pod to start (${running.message || running.reason})`
  }
  if (phase === 'ImportScheduled') return 'its importer pod to start'
  const message = claimMessageOf(dataVolume)
  return message === '' ? 'its volume' : `its volume (${message})`
}

/** More than any budget has. A status and the ledger can hold it. */
export const ATTEMPT_MAX = 1_000

/** Number of the attempt that a DataVolume was made for, from 1. Anybody who may write in its namespace can change the annotation. */
export function attemptOf({ metadata }: KubeObject): number {
  const number = Number(metadata.annotations?.[ANNOTATIONS.attempt])
  return Number.isInteger(number) && number >= 1 ? Math.min(number, ATTEMPT_MAX) : 1
}

/** How a download failed. Without a reason, the text of the importer determines it. */
export type ImportFailure = readonly [reason: Reason | undefined, message: string]

/** What it takes to tell why a download failed. */
export interface ImportEvidence {
  readonly observation: Observation
  /** Those of the namespace. */
  readonly quotas?: readonly QuotaView[]
}

/** Returns how a download failed, or why it can never start; undefined if neither CDI nor a pod shows that. */
export function importFailureOf(dataVolume: DataVolumeView, evidence: ImportEvidence): ImportFailure | undefined {
  return failedForGood(dataVolume) ?? failedImporter(dataVolume, evidence) ?? cannotStart(dataVolume, evidence)
}

function failedForGood({ phase, running, bound, ready }: DataVolumeView): ImportFailure | undefined {
  if (phase !== 'Failed') return undefined
  if (running.reason === 'ChecksumError') return ['ChecksumMismatch', running.message]
  if (bound.reason === 'ClaimLost') return ['ClaimLost', 'the volume behind the claim was lost']
  return [undefined, running.message || ready.message || 'CDI gave up']
}

/** Uses the pod itself too: CDI may be away, shows only what it observed, and has no text for what it did not observe. */
function failedImporter(dataVolume: DataVolumeView, context: ImportEvidence): ImportFailure | undefined {
  const { observation } = context
  const { running } = dataVolume
  const { importers } = observation
  const reason = running.status === 'False' ? running.reason : ''
  const ends = importers.filter(
    ({ phase, importer: { ended } }) => phase !== 'Succeeded' && (ended?.exitCode ?? 0) !== 0,
  )
  const end = ends[0]?.importer.ended
  if (end?.reason === 'OOMKilled' || reason === 'OOMKilled') return ['OutOfMemory', 'the importer ran out of memory']
  const named = NAMED[reason]
  if (named !== undefined) return [named, running.message]
  const refused = refusedPod(running, context)
  if (refused !== undefined) return refused
  const isReported = isFailureReported(running)
  const error = (isReported && running.message) || end?.message || ''
  if (error !== '') return [undefined, explained(error)]
  if (isKilled(dataVolume, observation))
    return ['Evicted', 'the importer pod was evicted or deleted before it was done, such as by the drain of its node']
  const hasRestarted = dataVolume.restartCount > 0 || importers.some(({ importer }) => importer.starts > 1)
  const hasFailed = isReported && dataVolume.phase !== 'ImportScheduled'
  // The kubelet also reports a terminated container for a pod that was deleted before it ran. CDI then creates the next one.
  const hasEnded = ends.some((pod) => !isTerminating(pod))
  if (!hasRestarted && !hasFailed && !hasEnded) return undefined
  return [undefined, explained(importError(dataVolume)) || withoutText(end)]
}

/** How long CDI may say that it cannot create the importer pod. */
const POD_REFUSED_AFTER_MS = 10_000

/** CDI's own messages about a pod that it cannot create refer to its log alone. */
function refusedPod(
  { status, reason, message }: ConditionView,
  { observation, quotas = [] }: ImportEvidence,
): ImportFailure | undefined {
  if (status !== 'False') return undefined
  if (reason === 'ErrExceededQuota') {
    const ofPods = quotas.flatMap((quota) => podLimitsOf(quota) ?? [])
    const which = ofPods.length === 0 ? message : `CDI does not say which one: ${ofPods.join('; ')}`
    return quotaExceeded('the importer pod', which)
  }
  // CDI says the same when a webhook does not answer for a moment.
  if (reason !== 'ErrStartingPod' || observation.unchangedMs < POD_REFUSED_AFTER_MS) return undefined
  const where = 'see the LimitRanges and admission policies of the namespace'
  return [
    'ImportRefused',
    `the API server refuses the importer pod, and CDI tells why in the log of cdi-deployment alone: ${where}`,
  ]
}

/** Reasons of Running=False that name the cause. */
const NAMED: Readonly<Record<string, Reason>> = {
  ChecksumError: 'ChecksumMismatch',
  CreateContainerConfigError: 'SecretMissing',
}

/** A killed pod leaves no text. CDI shows a pod with phase Failed as if it were still to be started. */
function isKilled({ running, phase }: DataVolumeView, { importers, isImporterLost, starts }: Observation): boolean {
  const isShown = phase === 'ImportScheduled' && isFailureReported(running) && starts !== 0
  const hasFailed = ({ phase: podPhase, importer }: PodView) => podPhase === 'Failed' && !hasCompleted(importer)
  return isShown || isImporterLost || importers.some((pod) => hasFailed(pod) && !isTerminating(pod))
}

/** Reasons of Running=False for a failure. The last one means that CDI saw the pod only between two starts. */
const FAILED: ReadonlySet<string> = new Set(['Error', 'CrashLoopBackOff', 'Pod is running'])

function isFailureReported({ status, reason, message }: ConditionView): boolean {
  return status === 'False' && (FAILED.has(reason) || isOfSource(reason, message))
}

/**
 * CDI says ImagePullFailed of a container image that the kubelet cannot pull, and of an importer that ended with "failed to pull image" in its text: it
 * could not read its source, of any type. The texts of importers begin in the same way.
 */
function isOfSource(reason: string, message: string): boolean {
  return reason === 'ImagePullFailed' && message.startsWith('Unable to ')
}

/** What the exit codes mean that a program does not choose itself. */
const CODES: Readonly<Record<number, string>> = {
  137: 'it was killed: by its node, or because a program that it started used too much memory',
  143: 'it was told to stop, such as by a drain of its node',
  255: 'its node lost it, such as by a restart',
}

function withoutText(end: ContainerEnd | undefined): string {
  const how = end === undefined ? '' : ` (exit code ${end.exitCode}${end.reason === '' ? '' : `, ${end.reason}`})`
  const why = CODES[end?.exitCode ?? 0]
  return `the importer failed${how}, and left no message${why === undefined ? '' : `; ${why}`}`
}

/** Explains texts of the importer that mislead: each is said by a library that knows nothing of images. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [
    /could not process image header: (unexpected )?EOF/,
    'the source is shorter than the header of any disk image: see what the URL returns, it may be a web page with an error or a login',
  ],
  [
    /Failed to find VM disk image file in the container image/,
    'the container image has no file below /disk, or CDI could not read the layer that has it',
  ],
  [/signal: killed/, 'a program of the importer was killed, most often because it used too much memory'],
]

function explained(text: string): string {
  const meaning = MEANINGS.find(([one]) => one.test(text))?.[1]
  return meaning === undefined ? text : `${meaning} (${text})`
}

/** CDI waits forever in these cases; a slot must not. */
function cannotStart(
  { bound, ready, phase }: DataVolumeView,
  { observation: { claimRefusal = '', importers } }: ImportEvidence,
): ImportFailure | undefined {
  const isPending = phase === '' || phase === 'Pending'
  const isForScratch = importers.some((pod) => pod.hasScratch && pod.importer.starts === 0)
  if (!isPending && !isForScratch) return undefined
  const what = isForScratch ? 'a volume with scratch space' : 'its volume'
  if (claimRefusal.includes('exceeded quota')) return quotaExceeded(what, claimRefusal)
  if (REFUSED.test(claimRefusal)) return ['ImportRefused', `the API server refuses ${what} (${claimRefusal})`]
  if (!isPending) return undefined
  const refusal = [bound, ready].find(({ reason }) => reason === 'ErrClaimNotValid' || reason === 'ErrExceededQuota')
  if (refusal === undefined) return undefined
  if (refusal.reason === 'ErrExceededQuota') return quotaExceeded('its volume', refusal.message)
  return ['ClaimInvalid', `${refusal.message}; give the StorageProfile of the storage class its claimPropertySets`]
}

/** Answers that hold until somebody changes a rule. A webhook that does not answer is none. */
const REFUSED = /is forbidden: |denied the request|ValidatingAdmissionPolicy '/

function quotaExceeded(what: string, refusal: string): ImportFailure {
  return ['QuotaExceeded', `a ResourceQuota of the namespace leaves no room for ${what} (${refusal})`]
}

/** While the importer runs again, its error remains only in this message: the text of the newest Event of the prime claim. */
function importError({ bound }: DataVolumeView): string {
  const at = bound.message.indexOf('Unable to ')
  return at < 0 ? '' : bound.message.slice(at)
}
