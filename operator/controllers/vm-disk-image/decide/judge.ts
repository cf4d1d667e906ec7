import type { Reason } from '@open-terrain/constructs/operator'
import { redactUrls } from '../../../base/messages.ts'
import { claimMessageOf } from '../../../cluster/claim-message.ts'
import {
  awaitedBy,
  downloadsOf,
  type ImportEvidence,
  type ImportFailure,
  importFailureOf,
  isBlind,
  isImportingAgain,
} from '../../../cluster/import-facts.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { ImageWorld, Patience } from '../world.ts'
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

export interface JudgeContext extends ImportEvidence, Patience, ErrorContext, Pick<ImageWorld, 'isCdiAway'> {
  /** Milliseconds since the attempt began. */
  readonly ageMs: number
}

/** CDI restarts a failing importer forever, from the first byte, as `ImportInProgress`. Here the first failure ends the attempt. */
export function judgeDataVolume(dataVolume: DataVolumeView, context: JudgeContext): Verdict {
  if (dataVolume.phase === 'Succeeded')
    return isImportingAgain(dataVolume) ? { state: 'importing-again' } : { state: 'finished' }
  const end = importFailureOf(dataVolume, context) ?? tookTooLong(dataVolume, context)
  if (end === undefined) return { state: 'running' }
  const [given, message] = end
  const reason = given ?? finalReasonOf(message, context) ?? 'ImporterFailed'
  const downloads = downloadsOf(dataVolume, context.observation.starts)
  return { state: 'failed', reason, message: redactUrls(message), permanent: isPermanent(reason), downloads }
}

function tookTooLong(dataVolume: DataVolumeView, context: JudgeContext): ImportFailure | undefined {
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

function minutes(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} seconds` : `${Math.round(ms / 60_000)} minutes`
}
