import { DEPENDENTS_MS, isWaitingForDependents } from '../../../cluster/dependents.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { isTerminating, keyOf } from '../../../kube/kube-object.ts'
import { isBlind, isFinished } from '../decide/judge.ts'
import type { AdmissionOptions } from './admission-options.ts'
import { isOrphan } from './downloads.ts'

/** How long CDI and the garbage collector may work on a deleted DataVolume before a live read checks what it still does. */
const LEAVING_MS = 15_000
/** With fewer held downloads, pruning them is not worth a scan. */
const LEAST = 64

interface Leaving {
  readonly key: string
  /** When this process first observed the deletion. */
  readonly since: number
  isWaiting: boolean
  isOver: boolean
}

interface Orphan {
  readonly key: string
  /** When this process first observed it orphaned, and when it last made progress. */
  readonly since: number
  movedAt: number
  fingerprint: string
  /** Whether its progress is known: if not, nothing shows that it stands still. */
  isSeen: boolean
}

/**
 * What this process has observed of downloads, by uid of their DataVolume, until that is gone. All times are by the monotonic clock: the clocks
 * of others do not count.
 */
export class DownloadNotes {
  readonly #options: Pick<AdmissionOptions, 'dataVolumes' | 'clock' | 'patience'>
  /** Keys of those that were seen with a slot. Finished ones stay, since CDI may begin them again. */
  readonly #held = new Map<string, string>()
  #pruneHeldFrom = LEAST
  /**
   * Those whose DataVolume is being deleted. Anybody who may write in its namespace can keep the object with a finalizer, though it downloads
   * nothing any more: after a while a live read may find that the download is over.
   */
  readonly #leaving = new Map<string, Leaving>()
  /**
   * Those that hold a slot and have lost their owner. Only people stop them, so they keep their slot, but no longer than an attempt of an
   * image would. Otherwise anybody could block the queue with a source that sends nothing and an owner reference that they remove.
   */
  readonly #orphans = new Map<string, Orphan>()

  constructor(options: Pick<AdmissionOptions, 'dataVolumes' | 'clock' | 'patience'>) {
    this.#options = options
  }

  noteHeld({ metadata }: DataVolumeView): void {
    this.#held.set(metadata.uid ?? '', keyOf(metadata))
  }

  /** Reports whether this process has seen a slot for this download. */
  wasHeld({ metadata }: DataVolumeView): boolean {
    return this.#held.has(metadata.uid ?? '')
  }

  /** Reports whether an orphan has used up the time that a download gets. */
  isTimedOut(dataVolume: DataVolumeView): boolean {
    return isOrphan(dataVolume) && this.#options.clock.monotonic() >= this.#endOf(this.#noteOrphan(dataVolume))
  }

  /** Reports whether a live read of a download that is being deleted is due. */
  isLookDue(dataVolume: DataVolumeView): boolean {
    if (!isTerminating(dataVolume) || isFinished(dataVolume)) return false
    const leaving = this.#noteLeaving(dataVolume)
    return !leaving.isOver && this.#options.clock.monotonic() >= lookAt(leaving)
  }

  /** A live read has found that nothing can download for it any more. */
  setOver(dataVolume: DataVolumeView): void {
    this.#noteLeaving(dataVolume).isOver = true
  }

  /** Reports whether a DataVolume that still exists can no longer download anything. */
  isOver({ metadata }: DataVolumeView): boolean {
    return this.#leaving.get(metadata.uid ?? '')?.isOver === true
  }

  /** Forgets what is gone. A fleet has thousands of held downloads, so not every change causes a scan of all. */
  prune(): void {
    for (const notes of [this.#leaving, this.#orphans])
      for (const [uid, { key }] of notes) if (this.#isGone(uid, key)) notes.delete(uid)
    if (this.#held.size < this.#pruneHeldFrom) return
    for (const [uid, key] of this.#held) if (this.#isGone(uid, key)) this.#held.delete(uid)
    this.#pruneHeldFrom = Math.max(LEAST, 2 * this.#held.size)
  }

  /** Returns when live reads are due and when the time of orphans is over. */
  times(): number[] {
    const looks = [...this.#leaving.values()].filter(({ isOver }) => !isOver).map(lookAt)
    return [...looks, ...[...this.#orphans.values()].map((orphan) => this.#endOf(orphan))]
  }

  #isGone(uid: string, key: string): boolean {
    return this.#options.dataVolumes.get(key)?.metadata.uid !== uid
  }

  #endOf({ since, movedAt, isSeen }: Orphan): number {
    const { stallTimeoutMs, attemptTimeoutMs } = this.#options.patience()
    if (!isSeen) return since + attemptTimeoutMs
    return Math.min(movedAt + stallTimeoutMs, since + attemptTimeoutMs)
  }

  #noteOrphan(dataVolume: DataVolumeView): Orphan {
    const { metadata, phase, progress } = dataVolume
    const { uid = '' } = metadata
    const now = this.#options.clock.monotonic()
    const fingerprint = `${phase}\n${progress}`
    const isSeen = !isBlind(dataVolume, { importers: [] })
    const known: Orphan = this.#orphans.get(uid) ?? {
      key: keyOf(metadata),
      since: now,
      movedAt: now,
      fingerprint,
      isSeen,
    }
    known.isSeen = isSeen
    if (known.fingerprint !== fingerprint) Object.assign(known, { movedAt: now, fingerprint })
    this.#orphans.set(uid, known)
    return known
  }

  #noteLeaving(dataVolume: DataVolumeView): Leaving {
    const { metadata } = dataVolume
    const { uid = '' } = metadata
    const unseen = { key: keyOf(metadata), since: this.#options.clock.monotonic(), isWaiting: false, isOver: false }
    const known: Leaving = this.#leaving.get(uid) ?? unseen
    known.isWaiting = isWaitingForDependents(dataVolume)
    this.#leaving.set(uid, known)
    return known
  }
}

function lookAt({ since, isWaiting }: Leaving): number {
  return since + (isWaiting ? DEPENDENTS_MS : LEAVING_MS)
}
