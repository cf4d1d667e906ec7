import * as annotation from './annotations.ts'
import {
  type Claim,
  type Condition,
  type ContainerState,
  type DataVolumeStatus,
  isTerminating,
  type Pod,
} from './models.ts'

/** The state of a DataVolume, as far as its status depends on it. */
export type Situation =
  /** There are no accessModes, and no class to take them from. */
  | { readonly at: 'claim not valid'; readonly message: string }
  | { readonly at: 'claim refused'; readonly message: string }
  | { readonly at: 'no claim' }
  /** A claim of another owner has the name, or the terminating claim of our predecessor. */
  | { readonly at: 'name taken'; readonly claim: Claim }
  /** No prime claim with a volume yet. */
  | { readonly at: 'pending'; readonly message: string; readonly needsConsumer?: boolean }
  | {
      readonly at: 'importing'
      readonly prime: Claim
      readonly pod: Pod | undefined
      readonly progress: string | undefined
      readonly isPodRefused: boolean
    }
  | { readonly at: 'fatal'; readonly message: string }
  /** A clone without a claim yet. Nothing blocks it. */
  | { readonly at: 'clone scheduled'; readonly message: string }
  /** A clone that cannot start yet. It starts as soon as it can. */
  | { readonly at: 'clone blocked'; readonly reason: string; readonly message: string }
  /** `phase` says how it is cloned. With `error`, the clone makes no progress. `event` is the newest event of its claim. */
  | { readonly at: 'cloning'; readonly phase: string; readonly event?: string; readonly error?: string }
  | { readonly at: 'clone failed'; readonly message: string }
  | { readonly at: 'cloned' }
  | { readonly at: 'populated'; readonly claim: Claim; readonly prime: Claim | undefined }

/** A condition as `[status, reason, message]`. */
type Short = readonly [status: 'True' | 'False', reason: string, message: string]

interface Draft {
  phase: string
  progress: string | undefined
  restartCount: number | undefined
  claimName: string | undefined
  bound: Short
  running: Short
  ready: Short
}

export const SCRATCH_MESSAGE = '{"scratchSpaceRequired":true}'
export const OOM_KILLED = 'OOMKilled'
const CRASH_LOOP = 'CrashLoopBackOff'
const IMAGE_PULL_FAILED = 'ImagePullFailed'
const IMAGE_PULL_TEXT = 'failed to pull image'
const NONE: Short = ['False', '', '']
const TRANSFERRING: Short = ['False', 'TransferRunning', '']
const COMPLETED: Short = ['False', 'Completed', 'Import Complete']

/** Returns the status that CDI shows in a situation, or `previous` itself if nothing changed. */
export function statusIn(
  situation: Situation,
  name: string,
  previous: DataVolumeStatus,
  now: string,
): DataVolumeStatus {
  const next = draft(situation, name, previous)
  const conditions = [
    condition('Ready', next.ready, previous, now),
    condition('Bound', next.bound, previous, now),
    condition('Running', next.running, previous, now),
  ]
  const { phase, progress, restartCount, claimName } = next
  const isSame =
    phase === (previous.phase ?? '') &&
    progress === previous.progress &&
    restartCount === previous.restartCount &&
    claimName === previous.claimName &&
    conditions.every((one) => previous.conditions?.includes(one))
  if (isSame) return previous
  return {
    ...(phase !== '' && { phase }),
    ...(progress !== undefined && { progress }),
    ...(restartCount !== undefined && { restartCount }),
    ...(claimName !== undefined && { claimName }),
    conditions,
  }
}

/** Reports whether the container ended with the one error that CDI does not retry. */
export function isChecksumMismatch(pod: Pod): boolean {
  const { exitCode = 0, message = '' } = lastEnd(pod) ?? {}
  return exitCode !== 0 && message.toLowerCase().includes('checksum mismatch')
}

export function isScratchRequired(pod: Pod): boolean {
  return pod.status?.containerStatuses?.[0]?.state.terminated?.message === SCRATCH_MESSAGE
}

export function isOomKilled(pod: Pod): boolean {
  return lastEnd(pod)?.reason === OOM_KILLED
}

/** Returns how a container that is down ended. Also while it backs off, so that a late reconcile does not miss an end that it must handle. */
function lastEnd(pod: Pod): ContainerState['terminated'] {
  const { state, lastState } = pod.status?.containerStatuses?.[0] ?? {}
  return state?.terminated ?? (state?.waiting?.reason === CRASH_LOOP ? lastState?.terminated : undefined)
}

/** Returns the restart count of a prime claim: the highest count of any of its pods. */
export function restartsOf(prime: Claim, pod: Pod | undefined): number {
  const kept = Number(prime.metadata.annotations?.[annotation.POD_RESTARTS] ?? 0)
  return Math.max(kept, pod?.status?.containerStatuses?.[0]?.restartCount ?? 0)
}

function draft(situation: Situation, name: string, previous: DataVolumeStatus): Draft {
  const waiting: Draft = {
    phase: previous.phase ?? '',
    progress: 'N/A',
    restartCount: undefined,
    claimName: name,
    bound: NONE,
    running: NONE,
    ready: NONE,
  }
  switch (situation.at) {
    case 'claim not valid': {
      const refused: Short = ['False', 'ErrClaimNotValid', situation.message]
      return { ...waiting, phase: '', progress: undefined, claimName: undefined, bound: refused, ready: refused }
    }
    case 'claim refused': {
      const refused: Short = ['False', 'ErrExceededQuota', situation.message]
      return { ...waiting, phase: 'Pending', claimName: undefined, bound: refused, ready: refused }
    }
    case 'no claim':
      return {
        ...keep(previous),
        phase: previous.phase || 'Pending',
        bound: ['False', 'NotFound', 'No PVC found'],
        progress: 'N/A',
      }
    case 'name taken': {
      const isBound = situation.claim.status?.phase === 'Bound'
      return {
        ...waiting,
        phase: '',
        progress: undefined,
        bound: isBound ? ['True', 'Bound', `PVC ${name} Bound`] : ['False', 'Pending', `PVC ${name} Pending`],
        running: isTerminating(situation.claim) ? COMPLETED : NONE,
      }
    }
    case 'pending': {
      // A DataVolume that has succeeded keeps reporting so until its import really starts over.
      const hasSucceeded = previous.phase === 'Succeeded'
      return {
        ...waiting,
        phase: situation.needsConsumer ? 'PendingPopulation' : previous.phase || 'Pending',
        bound: ['False', 'Pending', situation.message],
        running: hasSucceeded ? short(previous, 'Running') : NONE,
        ready: hasSucceeded ? short(previous, 'Ready') : NONE,
      }
    }
    case 'importing':
      return importing(situation, name, previous)
    case 'fatal':
      return {
        ...keep(previous),
        phase: 'Failed',
        running: ['False', 'ChecksumError', situation.message],
        ready: NONE,
      }
    case 'populated':
      return populated(situation.claim, situation.prime, name, previous)
    default:
      return cloneDraft(situation, name, waiting)
  }
}

type CloneSituation = Extract<
  Situation,
  { at: 'clone scheduled' | 'clone blocked' | 'cloning' | 'clone failed' | 'cloned' }
>

function cloneDraft(situation: CloneSituation, name: string, waiting: Draft): Draft {
  const bound: Short = ['False', 'Pending', `PVC ${name} Pending`]
  switch (situation.at) {
    case 'clone scheduled': {
      const scheduled: Short = ['False', 'CloneScheduled', situation.message]
      return { ...waiting, phase: 'CloneScheduled', bound: scheduled, ready: scheduled }
    }
    case 'clone blocked': {
      const blocked: Short = ['False', situation.reason, situation.message]
      return { ...waiting, phase: 'Pending', claimName: undefined, bound: blocked, ready: blocked }
    }
    case 'cloning': {
      const { phase, event, error } = situation
      // The real CDI repeats the provisioner's message even on clones that take no longer than others.
      const told: Short = event === undefined ? bound : ['False', 'Pending', `target PVC ${name} Pending and ${event}`]
      if (error === undefined) return { ...waiting, phase, bound: told, running: ['True', 'Populator is running', ''] }
      return { ...waiting, phase, bound: told, running: ['False', 'Error', error] }
    }
    case 'clone failed':
      return { ...waiting, phase: 'Failed', bound, running: ['False', 'Error', situation.message] }
    case 'cloned':
      return {
        ...waiting,
        phase: 'Succeeded',
        progress: '100.0%',
        bound: ['True', 'Bound', `PVC ${name} Bound`],
        running: ['False', 'Completed', 'Clone Complete'],
        ready: ['True', '', ''],
      }
  }
}

function importing(
  { prime, pod, progress, isPodRefused }: Extract<Situation, { at: 'importing' }>,
  name: string,
  previous: DataVolumeStatus,
): Draft {
  const restarts = restartsOf(prime, pod)
  const base: Draft = {
    ...keep(previous),
    // If a DataVolume succeeded before and its new import has not started, it has no progress, not even the old 100%.
    progress: progress ?? (previous.phase === 'Succeeded' ? 'N/A' : (previous.progress ?? 'N/A')),
    restartCount: restarts > 0 ? restarts : undefined,
    claimName: name,
    bound: ['False', 'Pending', `target PVC ${name} Pending and [${prime.metadata.name}] : ${newestEvent(prime, pod)}`],
  }
  if (isPodRefused) {
    const message = `Error starting pod 'importer-${prime.metadata.name}': For more information, request access to cdi-deploy logs from your sysadmin`
    return { ...base, phase: 'ImportScheduled', running: ['False', 'ErrExceededQuota', message], ready: NONE }
  }
  if (pod === undefined) return base
  if (pod.status?.phase === 'Failed') {
    const { reason = 'Error', message = '' } = lastEnd(pod) ?? {}
    return { ...base, phase: 'ImportScheduled', running: ['False', reason, message], ready: NONE }
  }
  if (isTerminating(pod)) return base
  const container = pod.status?.containerStatuses?.[0]
  const { waiting, running, terminated } = container?.state ?? {}
  if (running !== undefined) {
    return { ...base, phase: 'ImportInProgress', running: ['True', 'Pod is running', ''], ready: TRANSFERRING }
  }
  if (terminated !== undefined) return { ...base, ...ended(pod, previous) }
  if (waiting?.reason === CRASH_LOOP) return { ...base, ...crashLooping(previous) }
  return { ...base, phase: 'ImportScheduled', running: notStarted(pod, waiting), ready: NONE }
}

function ended(pod: Pod, previous: DataVolumeStatus): Partial<Draft> {
  const { exitCode = 0, message = '' } = pod.status?.containerStatuses?.[0]?.state.terminated ?? {}
  if (isOomKilled(pod)) return { running: ['False', OOM_KILLED, ''], ready: NONE }
  if (isScratchRequired(pod)) {
    return { running: ['False', 'Scratch space required', 'scratch space required and none found'], ready: NONE }
  }
  // Until the target claim is marked, a finished import looks like a running one.
  if (exitCode === 0) return { phase: 'ImportInProgress', running: short(previous, 'Running') }
  // CDI has one reason for a container image that cannot be pulled, and for an importer that could not read its source.
  const reason = message.includes(IMAGE_PULL_TEXT) ? IMAGE_PULL_FAILED : 'Error'
  return { phase: 'ImportInProgress', running: ['False', reason, message], ready: NONE }
}

/** CDI ignores a container's last state. It shows what it observed while the container was `terminated`, which may be nothing. */
function crashLooping(previous: DataVolumeStatus): Partial<Draft> {
  const before = short(previous, 'Running')
  const hasSeen = before[0] === 'False' && before[1] !== '' && before[1] !== 'ContainerCreating'
  return { phase: 'ImportInProgress', running: hasSeen ? before : ['False', 'Pod is running', ''], ready: NONE }
}

function notStarted(pod: Pod, waiting: { reason?: string; message?: string } | undefined): Short {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') return ['False', 'Unschedulable', 'Importer pod cannot be scheduled']
  const reason = waiting?.reason ?? 'ContainerCreating'
  if (reason === 'ErrImagePull' || reason === 'ImagePullBackOff') {
    return ['False', IMAGE_PULL_FAILED, `${IMAGE_PULL_TEXT}: ${pod.spec.containers[0]?.image ?? ''}`]
  }
  return ['False', reason, waiting?.message ?? '']
}

function populated(claim: Claim, prime: Claim | undefined, name: string, previous: DataVolumeStatus): Draft {
  const phase = claim.status?.phase
  const done: Draft = {
    ...keep(previous),
    phase: 'Succeeded',
    progress: '100.0%',
    claimName: name,
    bound: [
      'False',
      'Pending',
      `target PVC ${name} Pending and [${prime?.metadata.name ?? 'prime'}] : ${newestEvent(prime, undefined)}`,
    ],
    running: COMPLETED,
    ready: ['True', '', ''],
  }
  if (phase === 'Bound') return { ...done, bound: ['True', 'Bound', `PVC ${name} Bound`] }
  if (phase === 'Lost') return { ...done, phase: 'Failed', bound: ['False', 'ClaimLost', 'Claim Lost'], ready: NONE }
  return done
}

/** The Bound condition repeats the newest event of the prime claim, so an error stays in it while the importer runs again. */
function newestEvent(prime: Claim | undefined, pod: Pod | undefined): string {
  const container = pod?.status?.containerStatuses?.[0]
  const terminated = container?.state.terminated ?? container?.lastState?.terminated
  if (terminated !== undefined && terminated.exitCode !== 0 && terminated.message) return terminated.message
  return `Successfully provisioned volume ${prime?.spec.volumeName ?? ''}`.trim()
}

function keep(previous: DataVolumeStatus): Draft {
  return {
    phase: previous.phase ?? '',
    progress: previous.progress,
    restartCount: previous.restartCount,
    claimName: previous.claimName,
    bound: short(previous, 'Bound'),
    running: short(previous, 'Running'),
    ready: short(previous, 'Ready'),
  }
}

function short(status: DataVolumeStatus, type: string): Short {
  const found = status.conditions?.find((one) => one.type === type)
  return [found?.status === 'True' ? 'True' : 'False', found?.reason ?? '', found?.message ?? '']
}

function condition(type: string, [status, reason, message]: Short, previous: DataVolumeStatus, now: string): Condition {
  const before = previous.conditions?.find((one) => one.type === type)
  const isSame = before?.status === status && (before.reason ?? '') === reason && (before.message ?? '') === message
  if (before !== undefined && isSame) return before
  const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now
  return {
    type,
    status,
    lastHeartbeatTime: now,
    lastTransitionTime,
    ...(reason && { reason }),
    ...(message && { message }),
  }
}
