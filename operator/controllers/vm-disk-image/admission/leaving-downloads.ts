import { DEPENDENTS_MS, isWaitingForDependents } from '../../../cluster/dependents.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { keyOf } from '../../../kube/kube-object.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Store } from '../../../runtime/store.ts'
import { isFinished } from '../decide/judge.ts'

/** How long CDI and the garbage collector may work on a deleted DataVolume before a live read checks what it still does. */
const LEAVING_MS = 15_000

interface Leaving {
  readonly key: string
  /** When this process first observed the deletion: the clocks of others do not count. */
  readonly since: number
  isWaiting: boolean
  isOver: boolean
}

/**
 * Downloads whose DataVolume is being deleted. Anybody who may write in its namespace can keep the object with a finalizer, though it downloads
 * nothing any more: after a while a live read may find that the download is over.
 */
export class LeavingDownloads {
  readonly #dataVolumes: Store<DataVolumeView>
  readonly #clock: Clock
  /** By uid of the DataVolume. */
  readonly #known = new Map<string, Leaving>()

  constructor(dataVolumes: Store<DataVolumeView>, clock: Clock) {
    this.#dataVolumes = dataVolumes
    this.#clock = clock
  }

  /** Reports whether a live read is due. */
  isDue(dataVolume: DataVolumeView): boolean {
    if (dataVolume.metadata.deletionTimestamp === undefined || isFinished(dataVolume)) return false
    const known = this.#take(dataVolume)
    return !known.isOver && this.#clock.monotonic() >= dueAt(known)
  }

  setOver(dataVolume: DataVolumeView): void {
    this.#take(dataVolume).isOver = true
  }

  /** Reports whether a live read has found that nothing can download for it any more. */
  isOver({ metadata }: DataVolumeView): boolean {
    return this.#known.get(metadata.uid ?? '')?.isOver === true
  }

  /** Forgets what is gone. */
  prune(): void {
    for (const [uid, { key }] of this.#known)
      if (this.#dataVolumes.get(key)?.metadata.uid !== uid) this.#known.delete(uid)
  }

  /** Returns when live reads are due, by the monotonic clock. */
  times(): number[] {
    return [...this.#known.values()].filter(({ isOver }) => !isOver).map(dueAt)
  }

  #take(dataVolume: DataVolumeView): Leaving {
    const { metadata } = dataVolume
    const { uid = '' } = metadata
    const unseen = { key: keyOf(metadata), since: this.#clock.monotonic(), isWaiting: false, isOver: false }
    const known: Leaving = this.#known.get(uid) ?? unseen
    known.isWaiting = isWaitingForDependents(dataVolume)
    this.#known.set(uid, known)
    return known
  }
}

function dueAt({ since, isWaiting }: Leaving): number {
  return since + (isWaiting ? DEPENDENTS_MS : LEAVING_MS)
}
