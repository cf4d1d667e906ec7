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
  /** As last stored; undefined once it is deleted. */
  object: DataVolume | undefined
  /** Stays true: the operator did not ask for what downloads after that. */
  hasSucceeded: boolean
  /** What went wrong that the operator did not cause; undefined if nothing did. */
  trouble: string | undefined
  /** When it was deleted by a person, or before its artifact was made; undefined when it was not. */
  deletedInHasteAtMs: number | undefined
  /**
   * Whether it comes from a create with a lost response, which found its name free because the finished DataVolume before it was deleted
   * so quickly. It was not admitted: the operator stops it as soon as it sees it.
   */
  readonly isAfterthought: boolean
  /** When its image was deleted with --cascade=orphan; undefined when it was not. */
  orphanedAtMs: number | undefined
  /** When its phase or progress last changed. */
  movedAtMs: number
  /** Its first importer pod. */
  importerUid: string | undefined
  /** The importer pod that did its work. */
  filledBy: string | undefined
  /** Number of transfers that it started. */
  transfers: number
  /** Number of container starts of its importer pods, by pod uid. */
  readonly starts: Map<string, number>
  /** When the first of these starts was observed. */
  startedAtMs: number | undefined
  /** When the first failure of these containers was observed. */
  failedAtMs: number | undefined
}

/** Records what a container of an importer pod did. */
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

/** Reports whether the phase or the progress of a download has changed. */
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

/** Returns what went wrong according to the status of a DataVolume; undefined if nothing did. */
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
