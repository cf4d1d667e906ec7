import { LABELS } from '@open-terrain/constructs'
import { MANAGER } from '@open-terrain/constructs/operator'
import { DEPENDENTS_MS, isWaitingForDependents } from '../../../../cluster/dependents.ts'
import { isBlind, isFinished } from '../../../../cluster/import-facts.ts'
import { isChildOf, isOrphaned } from '../../../../cluster/ownership.ts'
import type { DataVolumeView } from '../../../../cluster/views.ts'
import { isTerminating } from '../../../../kube/kube-object.ts'
import type { Holder, Patience } from '../../world.ts'
import { ownerOf, volumeNameOf } from './slots.ts'

/** How long CDI and the garbage collector may work on a deleted DataVolume before a live read checks what it still does. */
const LEAVING_MS = 15_000

/**
 * What this process has observed of one download, until its DataVolume is gone. A download may have no slot, and may outlive the one that it had. All
 * times are monotonic, in milliseconds: the clocks of others do not count.
 */
export type Download = DownloadState & {
  /** Whether this process has seen a slot for it. */
  readonly wasHeld: boolean
  /** Since it lost its owner the first time. */
  readonly orphan: Orphan | undefined
}

type DownloadState =
  | { readonly state: 'running' | 'finished' }
  /**
   * Being deleted. Anybody who may write in its namespace can keep the object with a finalizer, though it downloads nothing any more: after a while a
   * live read may find that it is over.
   */
  | { readonly state: 'ending'; readonly since: number; readonly isWaiting: boolean }
  /** A live read has found that nothing can download for it any more, though it still exists. */
  | { readonly state: 'over' }

/**
 * A download that has lost its owner. Only people stop it, so it keeps its slot, but no longer than an attempt of an image would. Otherwise anybody
 * could block the queue with a source that sends nothing and an owner reference that they remove.
 */
interface Orphan {
  readonly isOrphan: boolean
  /** When this process first observed it orphaned, and when it last made progress. */
  readonly since: number
  readonly movedAt: number
  readonly fingerprint: string
  /** Whether its progress is known: if not, nothing shows that it stands still. */
  readonly isSeen: boolean
}

/** Returns what is known of a download once its DataVolume was observed. */
export function withObserved(before: Download | undefined, dataVolume: DataVolumeView, now: number): Download {
  const wasHeld = before?.wasHeld ?? false
  return { ...stateOf(before, dataVolume, now), wasHeld, orphan: orphanOf(before?.orphan, dataVolume, now) }
}

function stateOf(before: Download | undefined, dataVolume: DataVolumeView, now: number): DownloadState {
  if (before?.state === 'over') return { state: 'over' }
  if (isFinished(dataVolume)) return { state: 'finished' }
  if (!isTerminating(dataVolume)) return { state: 'running' }
  const since = before?.state === 'ending' ? before.since : now
  return { state: 'ending', since, isWaiting: isWaitingForDependents(dataVolume) }
}

function orphanOf(before: Orphan | undefined, dataVolume: DataVolumeView, now: number): Orphan | undefined {
  if (!isOrphan(dataVolume)) return before && { ...before, isOrphan: false }
  const fingerprint = `${dataVolume.phase}\n${dataVolume.progress}`
  const isSeen = !isBlind(dataVolume, { importers: [] })
  const movedAt = before?.fingerprint === fingerprint ? before.movedAt : now
  return { isOrphan: true, since: before?.since ?? now, movedAt, fingerprint, isSeen }
}

/** Reports whether a live read of a download that is being deleted is due. */
export function isReadDue(download: Download, now: number): boolean {
  return download.state === 'ending' && now >= readAt(download)
}

/** Reports whether an orphan has used up the time that a download gets. */
export function isTimedOut({ orphan }: Download, now: number, patience: Patience): boolean {
  return orphan?.isOrphan === true && now >= endOf(orphan, patience)
}

/** Reports whether time alone changes something about it. */
export function isTimed({ state, orphan }: Download): boolean {
  return state === 'ending' || orphan !== undefined
}

/** Returns the times, past or future, at which a live read is due and the time of an orphan is over. */
export function timesOf(download: Download, patience: Patience): number[] {
  const { orphan } = download
  const looks = download.state === 'ending' ? [readAt(download)] : []
  return orphan === undefined ? looks : [...looks, endOf(orphan, patience)]
}

function readAt({ since, isWaiting }: Extract<DownloadState, { readonly state: 'ending' }>): number {
  return since + (isWaiting ? DEPENDENTS_MS : LEAVING_MS)
}

function endOf({ since, movedAt, isSeen }: Orphan, { stallTimeoutMs, attemptTimeoutMs }: Patience): number {
  if (!isSeen) return since + attemptTimeoutMs
  return Math.min(movedAt + stallTimeoutMs, since + attemptTimeoutMs)
}

/**
 * Reports whether a slot is held for this DataVolume: it belongs to the image, or did so until somebody deleted the image with
 * `--cascade=orphan`. The garbage collector then removes the owner reference, which stops no importer. Such a DataVolume keeps its slot,
 * and only people delete it. It never gets a new slot, or anybody who may create DataVolumes could hold up the queue with labels alone.
 */
export function isDownloadOf(dataVolume: DataVolumeView, holder: Holder): boolean {
  const { name, labels } = dataVolume.metadata
  if (name !== volumeNameOf(holder)) return false
  return isChildOf(dataVolume, ownerOf(holder)) || (labels?.[LABELS.imageUid] === holder.uid && isOrphan(dataVolume))
}

/** Reports whether it is neither finished nor being deleted, and has its owner. */
export function isJustRunning(dataVolume: DataVolumeView | undefined): boolean {
  return dataVolume !== undefined && !isFinished(dataVolume) && !isTerminating(dataVolume) && !isOrphaned(dataVolume)
}

/** Reports whether a download was orphaned before it finished. */
export function isOrphan(dataVolume: DataVolumeView): boolean {
  const { labels } = dataVolume.metadata
  const wasOurs = labels?.[LABELS.managedBy] === MANAGER && labels[LABELS.imageUid] !== undefined
  return wasOurs && isOrphaned(dataVolume) && !isFinished(dataVolume)
}
