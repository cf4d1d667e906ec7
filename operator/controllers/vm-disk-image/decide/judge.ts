import type { Policy, Reason } from '@open-terrain/constructs'
import type { ContainerEnd } from '../../../cluster/importer-container.ts'
import { saidOfClaim } from '../../../cluster/said-of-claim.ts'
import type { DataVolumeView, PodView } from '../../../cluster/views.ts'
import type { ConditionView } from '../../../runtime/interned.ts'
import { redactUrls } from '../../../runtime/redact.ts'
import type { ImageWorld } from '../world.ts'
import { awaitedBy } from './awaited.ts'

/** How a download is doing. */
export type Verdict =
  /** Over, and its importer with it. */
  | { readonly state: 'finished' }
  /** Under way, or about to be. */
  | { readonly state: 'running' }
  /**
   * It succeeded once, and now CDI downloads again because somebody deleted the claim. CDI still says Succeeded then.
   */
  | { readonly state: 'importing-again' }
  | Failure

export interface Failure {
  readonly state: 'failed'
  readonly reason: Reason
  /** In the words of CDI where it has any. */
  readonly message: string
  /** No retry can mend it. */
  readonly permanent: boolean
  /** Downloads that it has cost so far; 0 when no importer ever got to its source. */
  readonly downloads: number
}

/** How long a download may take. */
export type Patience = Pick<Policy, 'stallTimeoutMs' | 'attemptTimeoutMs'>

export interface JudgeContext extends Patience, Pick<ImageWorld, 'observation' | 'isCdiAway'> {
  /** Milliseconds since the attempt began. */
  readonly ageMs: number
}

/**
 * Judges a DataVolume. CDI itself hardly ever gives up: it restarts a failing importer for ever, from the first byte, and
 * calls that `ImportInProgress`. The first failure seen here is the end of the attempt.
 */
export function judgeDataVolume(dataVolume: DataVolumeView, context: JudgeContext): Verdict {
  if (dataVolume.phase === 'Succeeded')
    return isImportingAgain(dataVolume) ? { state: 'importing-again' } : { state: 'finished' }
  const failed = failuresOf(dataVolume, context)
  return (
    failedForGood(dataVolume, failed) ??
    failedImporter(dataVolume, context, failed) ??
    cannotStart(dataVolume, context, failed) ??
    tookTooLong(dataVolume, context, failed) ?? { state: 'running' }
  )
}

/** Whether its importer cannot download any more. Everything else holds a slot. */
export function isFinished(dataVolume: DataVolumeView): boolean {
  return dataVolume.phase === 'Succeeded' && !isImportingAgain(dataVolume)
}

/**
 * A download that just succeeded has Bound=False for a moment, at 100 %. When its claim was deleted, CDI starts over:
 * still Succeeded and Ready for seconds, only Bound=False and a progress that is not 100 % tell.
 */
function isImportingAgain({ bound, progress }: DataVolumeView): boolean {
  return bound.status === 'False' && bound.reason !== 'ClaimLost' && progress !== '' && !progress.startsWith('100')
}

function failedForGood({ phase, running, bound, ready }: DataVolumeView, failed: Failures): Failure | undefined {
  if (phase !== 'Failed') return undefined
  if (running.reason === 'ChecksumError') return failed('ChecksumMismatch', running.message)
  if (bound.reason === 'ClaimLost') return failed('ClaimLost', 'the volume behind the claim was lost')
  return failed(undefined, running.message || ready.message || 'CDI gave up')
}

/**
 * The end of an importer, by what the DataVolume says of it, and by the pod itself: CDI may be away, shows no more than what it saw, and
 * keeps no text of what went on behind its back.
 */
function failedImporter(dataVolume: DataVolumeView, context: JudgeContext, failed: Failures): Failure | undefined {
  const { running } = dataVolume
  const { importers, isImporterLost } = context.observation
  const said = running.status === 'False' ? running.reason : ''
  const ends = importers.filter(hasFailedIn)
  const end = ends[0]?.importer.ended
  if (end?.reason === 'OOMKilled' || said === 'OOMKilled')
    return failed('OutOfMemory', 'the importer ran out of memory')
  const named = NAMED[said]
  if (named !== undefined) return failed(named, running.message)
  // All that CDI says itself is that its logs know more.
  if (said === 'ErrExceededQuota') return failed('QuotaExceeded', `${NO_ROOM} (${running.message})`)
  const error = (FAILED.has(said) && running.message) || end?.message || ''
  if (error !== '') return failed(undefined, error)
  if (isImporterLost || isKilled(dataVolume, context) || importers.some(isOver)) return failed('Evicted', EVICTED)
  const hasRestarted = dataVolume.restartCount > 0 || importers.some(({ importer }) => importer.starts > 1)
  const hasFailed = FAILED.has(said) && dataVolume.phase !== 'ImportScheduled'
  // Its kubelet also gives an end to a pod that is deleted before it ran. Then CDI makes the next one.
  const hasEnded = ends.some(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (!hasRestarted && !hasFailed && !hasEnded) return undefined
  return failed(undefined, importError(dataVolume) || withoutText(end))
}

/** Reasons of Running=False that say what is wrong. */
const NAMED: Readonly<Record<string, Reason>> = {
  ChecksumError: 'ChecksumMismatch',
  CreateContainerConfigError: 'SecretMissing',
}

const NO_ROOM = 'a ResourceQuota of the namespace leaves no room for the importer pod'

function hasFailedIn({ phase, importer: { ended } }: PodView): boolean {
  return phase !== 'Succeeded' && ended !== undefined && ended.exitCode !== 0
}

/** A pod that is killed leaves no text. CDI shows one that failed as a whole as if it were to be started. */
function isKilled({ running, phase }: DataVolumeView, { observation }: JudgeContext): boolean {
  return phase === 'ImportScheduled' && isFailureSaid(running) && observation.starts !== 0
}

/** It has failed as a whole, and stays where it is. */
function isOver({ phase, metadata }: PodView): boolean {
  return phase === 'Failed' && metadata.deletionTimestamp === undefined
}

const EVICTED = 'the importer pod was evicted or deleted before it was done, such as by the drain of its node'
/** As a reason of Running=False. The last one: CDI saw the pod only between two starts. */
const FAILED: ReadonlySet<string> = new Set(['Error', 'CrashLoopBackOff', 'Pod is running'])

function isFailureSaid({ status, reason }: ConditionView): boolean {
  return status === 'False' && FAILED.has(reason)
}

function withoutText(end: ContainerEnd | undefined): string {
  const how = end === undefined ? '' : ` (exit code ${end.exitCode}${end.reason === '' ? '' : `, ${end.reason}`})`
  return `the importer failed${how}, and left no message`
}

/** CDI waits for ever on these; a slot must not. */
function cannotStart(
  { bound, ready, phase }: DataVolumeView,
  { observation: { claimRefusal = '' } }: JudgeContext,
  failed: Failures,
): Failure | undefined {
  if (phase !== '' && phase !== 'Pending') return undefined
  if (claimRefusal.includes('exceeded quota')) return failed('QuotaExceeded', claimRefusal)
  const said = [bound, ready].find(({ reason }) => reason === 'ErrClaimNotValid' || reason === 'ErrExceededQuota')
  if (said === undefined) return undefined
  if (said.reason === 'ErrExceededQuota') return failed('QuotaExceeded', said.message)
  return failed('ClaimInvalid', `${said.message}; ${GIVE_PROPERTIES}`)
}

function tookTooLong(dataVolume: DataVolumeView, context: JudgeContext, failed: Failures): Failure | undefined {
  const { ageMs, observation, attemptTimeoutMs, stallTimeoutMs } = context
  const last = lastSeen(dataVolume)
  const where = last === '' ? '' : `; last seen: ${last}`
  const isStalled = observation.unchangedMs >= stallTimeoutMs
  // While CDI acts on nothing, how long something takes says nothing about it.
  if (context.isCdiAway || (ageMs < attemptTimeoutMs && !isStalled)) return undefined
  if (downloadsOf(dataVolume, observation.starts) === 0) {
    const waited = ageMs >= attemptTimeoutMs ? attemptTimeoutMs : stallTimeoutMs
    const message = `nothing was downloaded: ${minutes(waited)} of waiting for ${awaitedBy(dataVolume, observation)}`
    return failed('ImporterNotStarted', message)
  }
  if (ageMs >= attemptTimeoutMs)
    return failed('AttemptTimeout', `not finished within ${minutes(attemptTimeoutMs)}${where}`)
  return failed('Stalled', `no progress for ${minutes(stallTimeoutMs)}${where}`)
}

/** What runs, or does not, tells more than what was once said of the claim. */
function lastSeen(dataVolume: DataVolumeView): string {
  const { running } = dataVolume
  if (running.status === 'True') return ''
  return running.message || running.reason || saidOfClaim(dataVolume)
}

/** What helps where CDI knows no access mode for a storage class. */
const GIVE_PROPERTIES = 'give the StorageProfile of the storage class its claimPropertySets'

function minutes(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} seconds` : `${Math.round(ms / 60_000)} minutes`
}

/** What the source or the image says once, it says always. Whole phrases: a bare 404 may be part of any request id. */
const PERMANENT: readonly { readonly reason: Reason; readonly pattern: RegExp }[] = [
  { reason: 'ChecksumMismatch', pattern: /checksum mismatch/i },
  { reason: 'NotFound', pattern: /NoSuchKey|NoSuchBucket|status code: 404|\bgot 404\b|manifest unknown|name unknown/ },
  {
    reason: 'AccessDenied',
    pattern: /AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|status code: 40[13]|\bgot 40[13]\b/,
  },
  {
    reason: 'DiskTooSmall',
    pattern: /DataVolume too small to contain image|virtual image size .* is larger than|no space left on device/i,
  },
]

/** Whether a failure for this reason is final. */
export function isPermanent(reason: string): reason is Reason {
  return PERMANENT.some((one) => one.reason === reason)
}

/** While the importer runs again its error is only left here: the text of the newest event of the prime claim. */
function importError({ bound }: DataVolumeView): string {
  const at = bound.message.indexOf('Unable to ')
  return at < 0 ? '' : bound.message.slice(at)
}

/**
 * Downloads that it has cost: every importer that ran is one, whatever ended it, and every restart began at the first byte. What the
 * pods showed counts, and what CDI says where it has seen more.
 *
 * @param starts undefined where no pod was seen
 */
export function downloadsOf(dataVolume: DataVolumeView, starts: number | undefined): number {
  const { phase, running, restartCount } = dataVolume
  const isRunSaid =
    restartCount > 0 ||
    running.status === 'True' ||
    (isFailureSaid(running) && starts !== 0) ||
    RUN_PHASES.has(phase) ||
    RUN_REASONS.has(running.reason)
  return Math.max(starts ?? 0, isRunSaid ? 1 + restartCount : 0)
}

const RUN_PHASES: ReadonlySet<string> = new Set(['ImportInProgress', 'Succeeded', 'Failed'])
const RUN_REASONS: ReadonlySet<string> = new Set(['OOMKilled', 'ChecksumError'])

/** Failures of one download. Without a reason, it is what the text of the importer says. */
type Failures = (reason: Reason | undefined, message: string) => Failure

function failuresOf(dataVolume: DataVolumeView, { observation }: JudgeContext): Failures {
  return (given, message) => {
    const reason = given ?? PERMANENT.find(({ pattern }) => pattern.test(message))?.reason ?? 'ImporterFailed'
    const downloads = downloadsOf(dataVolume, observation.starts)
    return { state: 'failed', reason, message: redactUrls(message), permanent: isPermanent(reason), downloads }
  }
}
