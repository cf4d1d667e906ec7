import type { ContainerStatus } from '../../sandbox/simulators/models.ts'
import type { ConditionOf, DataVolume } from '../harness/kinds.ts'

/** A DataVolume of an image, from its first commit to its last. */
export interface Download {
  readonly uid: string
  readonly key: string
  readonly imageUid: string
  readonly revision: string
  readonly attempt: number
  readonly createdAtMs: number
  /** As it was stored last; undefined once it is gone. */
  object: DataVolume | undefined
  /** Once is for ever: what downloads after that was not asked for by the operator. */
  hasSucceeded: boolean
  /** What went wrong with it that was no doing of the operator's; undefined while nothing did. */
  trouble: string | undefined
  /** When it was deleted by a person, or before its artifact was made; undefined when it was not. */
  deletedInHasteAtMs: number | undefined
  /**
   * The finished one before it was deleted so quickly that a create which nobody had answered found its name free.
   * Nobody admitted it: it is stopped on sight.
   */
  readonly isAfterthought: boolean
  /** When its image was deleted with --cascade=orphan; undefined when it was not. */
  orphanedAtMs: number | undefined
  /** When its phase or progress last changed. */
  movedAtMs: number
  /** Its first importer pod. */
  importerUid: string | undefined
  /** Transfers that it began. */
  transfers: number
  /** Starts of the containers of its importer pods, by uid of the pod. */
  readonly starts: Map<string, number>
  /** When the first of those was. */
  startedAtMs: number | undefined
  /** When the first of them ended without success. */
  failedAtMs: number | undefined
}

/** What a container of an importer pod did. */
export function noteContainer(
  download: Download,
  podUid: string,
  container: ContainerStatus | undefined,
  nowMs: number,
): void {
  const { restartCount = 0, state, lastState } = container ?? {}
  const end = state?.terminated ?? lastState?.terminated
  if (state?.running !== undefined || end?.startedAt !== undefined) download.starts.set(podUid, 1 + restartCount)
  if (end !== undefined && end.exitCode !== 0) {
    download.trouble ??= `an importer ended with ${end.exitCode}`
    download.failedAtMs ??= nowMs
  }
  if (download.starts.size > 0) download.startedAtMs ??= nowMs
}

/** Whether a download got further. */
export function isMoved(before: DataVolume | undefined, after: DataVolume): boolean {
  const [then, now] = [before, after].map((one) => [one?.status?.phase, one?.status?.progress].join(' '))
  return then !== now
}

const TROUBLES: ReadonlySet<string> = new Set([
  'Error',
  'OOMKilled',
  'CrashLoopBackOff',
  'ChecksumError',
  'CreateContainerConfigError',
  'ErrExceededQuota',
  'ErrClaimNotValid',
  'ClaimLost',
  'Pod is running',
])

/** What a DataVolume says went wrong, undefined while nothing did. */
export function troubleOf({ status }: DataVolume): string | undefined {
  const {
    phase = '',
    conditions = [],
    restartCount = 0,
  } = (status ?? {}) as {
    phase?: string
    conditions?: readonly ConditionOf[]
    restartCount?: number
  }
  if (phase === 'Failed') return 'phase Failed'
  if (restartCount > 0) return `${restartCount} restarts`
  const said = conditions.find(({ status: holds, reason = '' }) => holds === 'False' && TROUBLES.has(reason))
  return said && `${said.type}=False, ${said.reason}`
}
