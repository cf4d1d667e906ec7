import type { VMDiskImageStatus } from '@open-terrain/constructs'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import type { ImageWorld } from '../world.ts'
import { attemptOf } from './attempts.ts'
import { awaitedBy } from './awaited.ts'
import { type ImageDraft, type ImagePlan, planAt, planWith } from './image-plan.ts'
import { downloadsOf, isFinished } from './judge.ts'
import { type ImageStanding, OUT_OF_QUEUE } from './status.ts'

/**
 * From this age on, a download is worth a write that names its importer pod, so that the next leader can tell whether another pod
 * replaced it. Shorter downloads end before that matters.
 */
const POD_NOTED_AFTER_MS = 30_000

/** How long an importer may take to start before the status reports that: most need less. */
const STARTING_TOLD_AFTER_MS = 2_000

/** Plans for a download that holds its slot and has not failed. */
export function planRunning(draft: ImageDraft): ImagePlan | undefined {
  const { world, now, dataVolume, status } = draft
  const { observation, image } = world
  if (dataVolume === undefined || isFinished(dataVolume)) return undefined
  if (!world.isSlotKnown) return planWith(image.status, {})
  const { uid } = dataVolume.metadata
  const isNew = status.dataVolumeUID !== uid
  const before: VMDiskImageStatus = isNew ? {} : status
  // Once started, it stays started: an importer that succeeded no longer counts as a start, and CDI may report its run only later.
  const hasRun = downloadsOf(dataVolume, observation.starts) > 0 || before.startedAt !== undefined
  const leftMs = STARTING_TOLD_AFTER_MS - observation.seenMs
  if (isNew && !hasRun && leftMs > 0)
    return planWith(image.status, { wake: { afterMs: leftMs, because: 'its importer should run by then' } })
  const attempt = attemptOf(dataVolume)
  // Set at the first byte: the time that it waited before does not count.
  const startedAt = hasRun ? (before.startedAt ?? toTime(now)) : undefined
  const isShort = now - (fromTime(startedAt) ?? now) < POD_NOTED_AFTER_MS
  const next: VMDiskImageStatus = {
    ...status,
    attempt,
    dataVolumeUID: uid,
    startedAt,
    importerPodUID: isShort ? before.importerPodUID : observation.importerPodUid,
    progress: dataVolume.progress || undefined,
    ...OUT_OF_QUEUE,
  }
  const standing = running(dataVolume, hasRun, `attempt ${attempt} of ${1 + world.policy.retryLimit}`, world)
  const wake = { afterMs: untilTimeout(next, draft), because: 'a stalled download would be stopped then' }
  return planAt(draft, next, standing, { wake })
}

function running(dataVolume: DataVolumeView, hasRun: boolean, attempt: string, world: ImageWorld): ImageStanding {
  const phase = 'Syncing'
  const { isCdiAway, observation } = world
  const isDone = observation.importers.some((pod) => pod.phase === 'Succeeded')
  if (isCdiAway && (!hasRun || isDone)) {
    const message =
      'CDI does not act on its DataVolume: see whether cdi-deployment runs; the image keeps its slot, uses no attempt, and continues when CDI is back'
    return { phase, reason: 'CDINotResponding', message }
  }
  if (hasRun) return { phase, reason: 'Syncing', message: `downloading, ${attempt}` }
  return { phase, reason: 'Starting', message: `waiting for ${awaitedBy(dataVolume, observation)}, ${attempt}` }
}

function untilTimeout({ startedAt }: VMDiskImageStatus, { world, now }: ImageDraft): number {
  const { stallTimeoutMs, attemptTimeoutMs } = world.policy
  const age = now - (fromTime(startedAt) ?? now)
  return Math.max(1_000, Math.min(stallTimeoutMs - world.observation.unchangedMs, attemptTimeoutMs - age, 30_000))
}
