import type { Policy, Reason } from '@open-terrain/constructs'
import { claimMessageOf } from '../../../cluster/claim-message.ts'
import { type ContainerEnd, hasCompleted } from '../../../cluster/importer-container.ts'
import type { DataVolumeView, PodView } from '../../../cluster/views.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import type { ConditionView } from '../../../runtime/interned.ts'
import { redactUrls } from '../../../runtime/redact.ts'
import type { ImageWorld, Observation } from '../world.ts'
import { type ErrorContext, finalReasonOf, isPermanent } from './final-errors.ts'

/** How a download is doing. */
export type Verdict =
  /** The download has succeeded, and its importer has ended. */
  | { readonly state: 'finished' }
  /** In progress, or about to start. */
  | { readonly state: 'running' }
  /** It succeeded, but CDI downloads again because somebody deleted the claim. CDI still reports Succeeded. */
  | { readonly state: 'importing-again' }
  | Failure

export interface Failure {
  readonly state: 'failed'
  readonly reason: Reason
  /** The text of CDI, if it has one. */
  readonly message: string
  /** A retry cannot fix it. */
  readonly permanent: boolean
  /** Downloads used so far; 0 if no importer ever reached its source. */
  readonly downloads: number
}

/** How long a download may take. */
export type Patience = Pick<Policy, 'stallTimeoutMs' | 'attemptTimeoutMs'>

export interface JudgeContext extends Patience, ErrorContext, Pick<ImageWorld, 'observation' | 'isCdiAway'> {
  /** Milliseconds since the attempt began. */
  readonly ageMs: number
  /** Returns the quotas that limit pods. */
  readonly podQuotas?: () => readonly string[]
}

/** CDI restarts a failing importer forever, from the first byte, as `ImportInProgress`. Here the first failure ends the attempt. */
export function judgeDataVolume(dataVolume: DataVolumeView, context: JudgeContext): Verdict {
  if (dataVolume.phase === 'Succeeded')
    return isImportingAgain(dataVolume) ? { state: 'importing-again' } : { state: 'finished' }
  const end =
    failedForGood(dataVolume) ??
    failedImporter(dataVolume, context) ??
    cannotStart(dataVolume, context) ??
    tookTooLong(dataVolume, context)
  if (end === undefined) return { state: 'running' }
  const [given, message] = end
  const reason = given ?? finalReasonOf(message, context) ?? 'ImporterFailed'
  const downloads = downloadsOf(dataVolume, context.observation.starts)
  return { state: 'failed', reason, message: redactUrls(message), permanent: isPermanent(reason), downloads }
}

/** How a download failed. Without a reason, the text of the importer determines it. */
type End = readonly [reason: Reason | undefined, message: string]

/** Reports whether its importer can no longer download. Any other DataVolume holds a slot. */
export function isFinished(dataVolume: DataVolumeView): boolean {
  return dataVolume.phase === 'Succeeded' && !isImportingAgain(dataVolume)
}

/**
 * A download that just succeeded has Bound=False for a moment, at 100%. If its claim was deleted, CDI starts over: for
 * seconds it stays Succeeded and Ready, and only Bound=False with a progress other than 100% shows it.
 */
function isImportingAgain({ bound, progress }: DataVolumeView): boolean {
  return bound.status === 'False' && bound.reason !== 'ClaimLost' && progress !== '' && !progress.startsWith('100')
}

function failedForGood({ phase, running, bound, ready }: DataVolumeView): End | undefined {
  if (phase !== 'Failed') return undefined
  if (running.reason === 'ChecksumError') return ['ChecksumMismatch', running.message]
  if (bound.reason === 'ClaimLost') return ['ClaimLost', 'the volume behind the claim was lost']
  return [undefined, running.message || ready.message || 'CDI gave up']
}

/** Uses the pod itself too: CDI may be away, shows only what it observed, and has no text for what it did not observe. */
function failedImporter(dataVolume: DataVolumeView, context: JudgeContext): End | undefined {
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
  { observation, podQuotas }: JudgeContext,
): End | undefined {
  if (status !== 'False') return undefined
  if (reason === 'ErrExceededQuota') {
    const quotas = podQuotas?.() ?? []
    const which = quotas.length === 0 ? message : `CDI does not say which one: ${quotas.join('; ')}`
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
  { observation: { claimRefusal = '', importers } }: JudgeContext,
): End | undefined {
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

function quotaExceeded(what: string, refusal: string): End {
  return ['QuotaExceeded', `a ResourceQuota of the namespace leaves no room for ${what} (${refusal})`]
}

function tookTooLong(dataVolume: DataVolumeView, context: JudgeContext): End | undefined {
  const { ageMs, observation, attemptTimeoutMs, stallTimeoutMs } = context
  const { running } = dataVolume
  // The Running condition says more than an earlier message about the claim.
  const last = running.status === 'True' ? '' : running.message || running.reason || claimMessageOf(dataVolume)
  const where = last === '' ? '' : `; last seen: ${last}`
  const isStalled = observation.unchangedMs >= stallTimeoutMs && !isBlind(dataVolume, observation)
  // While CDI does not act, elapsed time says nothing about the download.
  if (context.isCdiAway || (ageMs < attemptTimeoutMs && !isStalled)) return undefined
  if (downloadsOf(dataVolume, observation.starts) === 0) {
    const waited = ageMs >= attemptTimeoutMs ? attemptTimeoutMs : stallTimeoutMs
    const message = `nothing was downloaded: ${minutes(waited)} of waiting for ${awaitedBy(dataVolume, observation)}`
    return ['ImporterNotStarted', message]
  }
  if (ageMs >= attemptTimeoutMs)
    return ['AttemptTimeout', `not finished within ${minutes(attemptTimeoutMs)} (policy key attemptTimeout)${where}`]
  return ['Stalled', `no progress for ${minutes(stallTimeoutMs)} (policy key stallTimeout)${where}`]
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
export function hasProgress(progress: string): boolean {
  return /^\d/.test(progress)
}

function minutes(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} seconds` : `${Math.round(ms / 60_000)} minutes`
}

/** While the importer runs again, its error remains only in this message: the text of the newest Event of the prime claim. */
function importError({ bound }: DataVolumeView): string {
  const at = bound.message.indexOf('Unable to ')
  return at < 0 ? '' : bound.message.slice(at)
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
