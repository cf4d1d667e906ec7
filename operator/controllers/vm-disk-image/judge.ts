import type { Reason } from '@open-terrain/constructs'
import { redactUrls } from '../../runtime/redact.ts'
import type { DataVolumeView, PodView } from './views.ts'

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

export interface JudgeContext {
  readonly pods: readonly PodView[]
  /** Another importer pod has taken over from the one that began. */
  readonly isImporterReplaced: boolean
  /** Milliseconds since the attempt began, and since anything about it changed. */
  readonly ageMs: number
  readonly unchangedMs: number
  readonly stallTimeoutMs: number
  readonly attemptTimeoutMs: number
}

/** CDI mends these by itself within moments where it can; so long we look on, holding a slot. */
const CANNOT_START_GRACE_MS = 30_000

/**
 * Judges a DataVolume. CDI itself hardly ever gives up: it restarts a failing importer for ever, from the first byte, and
 * calls that `ImportInProgress`. The first failure seen here is the end of the attempt.
 */
export function judgeDataVolume(dataVolume: DataVolumeView, context: JudgeContext): Verdict {
  if (dataVolume.phase === 'Succeeded')
    return isImportingAgain(dataVolume) ? { state: 'importing-again' } : { state: 'finished' }
  return (
    failedForGood(dataVolume) ??
    failedImporter(dataVolume) ??
    failedPod(dataVolume, context) ??
    cannotStart(dataVolume, context) ??
    tookTooLong(dataVolume, context) ?? { state: 'running' }
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

function failedForGood(dataVolume: DataVolumeView): Failure | undefined {
  if (dataVolume.phase !== 'Failed') return undefined
  const { running, bound, ready } = dataVolume
  if (running.reason === 'ChecksumError') return failure(dataVolume, 'ChecksumMismatch', running.message, true)
  if (bound.reason === 'ClaimLost')
    return failure(dataVolume, 'ClaimLost', 'the volume behind the claim was lost', false)
  return importerFailure(dataVolume, running.message || ready.message || 'CDI gave up')
}

function failedImporter(dataVolume: DataVolumeView): Failure | undefined {
  const { running, restartCount } = dataVolume
  if (running.status === 'False') {
    switch (running.reason) {
      case 'OOMKilled':
        return failure(dataVolume, 'OutOfMemory', 'the importer ran out of memory', false)
      case 'ChecksumError':
        return failure(dataVolume, 'ChecksumMismatch', running.message, true)
      case 'Error':
      case 'CrashLoopBackOff':
      // CDI saw the pod only between two starts: it keeps the reason of the run before, without a text.
      case 'Pod is running':
        return importerFailure(dataVolume, running.message || importError(dataVolume))
      case 'CreateContainerConfigError':
        return { ...failure(dataVolume, 'SecretMissing', running.message, false), downloads: restartCount }
      case 'ErrExceededQuota':
        return { ...failure(dataVolume, 'QuotaExceeded', noRoom(running.message), false), downloads: restartCount }
      default:
        break
    }
  }
  return restartCount > 0 ? importerFailure(dataVolume, running.message || importError(dataVolume)) : undefined
}

function failedPod(dataVolume: DataVolumeView, { pods, isImporterReplaced }: JudgeContext): Failure | undefined {
  if (pods.some((pod) => pod.phase === 'Failed')) {
    return failure(dataVolume, 'Evicted', 'the importer pod was evicted or killed', false)
  }
  if (isImporterReplaced && dataVolume.running.reason !== 'Scratch space required') {
    const told = failure(
      dataVolume,
      'ImporterReplaced',
      'the importer pod was replaced by a new one, which starts over',
      false,
    )
    return { ...told, downloads: told.downloads + 1 }
  }
  return undefined
}

/** CDI waits for ever on these; a slot must not. No importer ran, so it costs nothing to try again later. */
function cannotStart({ bound, ready, phase }: DataVolumeView, { ageMs }: JudgeContext): Failure | undefined {
  if (ageMs < CANNOT_START_GRACE_MS || (phase !== '' && phase !== 'Pending')) return undefined
  const said = [bound, ready].find(({ reason }) => reason === 'ErrClaimNotValid' || reason === 'ErrExceededQuota')
  if (said === undefined) return undefined
  const reason: Reason = said.reason === 'ErrExceededQuota' ? 'QuotaExceeded' : 'ClaimInvalid'
  const remedy = reason === 'ClaimInvalid' ? '; give the StorageProfile of the storage class its claimPropertySets' : ''
  return { state: 'failed', reason, message: redactUrls(said.message) + remedy, permanent: false, downloads: 0 }
}

function tookTooLong(dataVolume: DataVolumeView, context: JudgeContext): Failure | undefined {
  const { ageMs, unchangedMs, attemptTimeoutMs, stallTimeoutMs } = context
  const { running, bound } = dataVolume
  const last = running.message || bound.message || running.reason || bound.reason
  const where = last === '' ? '' : `; last seen: ${last}`
  if (ageMs >= attemptTimeoutMs) {
    return failure(dataVolume, 'AttemptTimeout', `not finished within ${minutes(attemptTimeoutMs)}${where}`, false)
  }
  if (unchangedMs >= stallTimeoutMs) {
    return failure(dataVolume, 'Stalled', `no progress for ${minutes(stallTimeoutMs)}${where}`, false)
  }
  return undefined
}

/** All that CDI says itself is that its logs know more. */
function noRoom(message: string): string {
  return `a ResourceQuota of the namespace leaves no room for the importer pod (${message})`
}

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

function importerFailure(dataVolume: DataVolumeView, message: string): Failure {
  const known = PERMANENT.find(({ pattern }) => pattern.test(message))
  const text = message === '' ? 'the importer failed; CDI kept no message' : message
  return failure(dataVolume, known?.reason ?? 'ImporterFailed', text, known !== undefined)
}

/** While the importer runs again its error is only left here: the text of the newest event of the prime claim. */
function importError({ bound }: DataVolumeView): string {
  const at = bound.message.indexOf('Unable to ')
  return at < 0 ? '' : bound.message.slice(at)
}

function failure(dataVolume: DataVolumeView, reason: Reason, message: string, permanent: boolean): Failure {
  // Every restart began a download of its own, from the first byte.
  return { state: 'failed', reason, message: redactUrls(message), permanent, downloads: 1 + dataVolume.restartCount }
}
