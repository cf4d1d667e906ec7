import { DEPENDENTS_MS, isWaitingForDependents } from '../../../cluster/dependents.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { keyOf } from '../../../kube/kube-object.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Store } from '../../../runtime/store.ts'
import { isFinished } from '../decide/judge.ts'

/** So long after it was deleted nobody asks what a DataVolume still does: CDI and the garbage collector are at work. */
const LEAVING_MS = 15_000

interface Leaving {
  readonly key: string
  /** When this process first saw it so: clocks of others do not count. */
  readonly since: number
  isWaiting: boolean
  isOver: boolean
}

/**
 * Downloads whose DataVolume is being deleted. Anybody who may write in its namespace can keep it there with a finalizer, which downloads
 * nothing: when it has left for a while, a live look may find that it is over.
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

  /** Whether it is worth a live look. */
  isDue(dataVolume: DataVolumeView): boolean {
    if (dataVolume.metadata.deletionTimestamp === undefined || isFinished(dataVolume)) return false
    const known = this.#take(dataVolume)
    return !known.isOver && this.#clock.monotonic() >= dueAt(known)
  }

  setOver(dataVolume: DataVolumeView): void {
    this.#take(dataVolume).isOver = true
  }

  /** Whether a live look has found that nothing can download for it any more. */
  isOver({ metadata }: DataVolumeView): boolean {
    return this.#known.get(metadata.uid ?? '')?.isOver === true
  }

  /** Forgets what is gone. */
  prune(): void {
    for (const [uid, { key }] of this.#known)
      if (this.#dataVolumes.get(key)?.metadata.uid !== uid) this.#known.delete(uid)
  }

  /** When they are worth a live look, by the monotonic clock. */
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
