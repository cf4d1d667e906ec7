import type { DataVolumeView } from '../../../cluster/views.ts'
import { keyOf } from '../../../kube/kube-object.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Store } from '../../../runtime/store.ts'
import type { Patience } from '../decide/judge.ts'
import { isOrphan } from './downloads.ts'

interface Orphan {
  readonly key: string
  /** When this process first observed it orphaned, and when it last made progress: the clocks of others do not count. */
  readonly since: number
  movedAt: number
  fingerprint: string
}

/**
 * Downloads that hold a slot and have lost their owner. Only people stop them, so they keep their slot, but no longer than an attempt of an
 * image would. Otherwise anybody could block the queue with a source that sends nothing and an owner reference that they remove.
 */
export class OrphanedDownloads {
  readonly #dataVolumes: Store<DataVolumeView>
  readonly #clock: Clock
  readonly #patience: () => Patience
  /** By uid of the DataVolume. */
  readonly #known = new Map<string, Orphan>()

  constructor(dataVolumes: Store<DataVolumeView>, clock: Clock, patience: () => Patience) {
    this.#dataVolumes = dataVolumes
    this.#clock = clock
    this.#patience = patience
  }

  /** Reports whether it has used up the time that a download gets. */
  isTimedOut(dataVolume: DataVolumeView): boolean {
    if (!isOrphan(dataVolume)) return false
    return this.#clock.monotonic() >= this.#endOf(this.#take(dataVolume))
  }

  /** Forgets what is gone. */
  prune(): void {
    for (const [uid, { key }] of this.#known)
      if (this.#dataVolumes.get(key)?.metadata.uid !== uid) this.#known.delete(uid)
  }

  /** Returns when their time is over, by the monotonic clock. */
  times(): number[] {
    return [...this.#known.values()].map((orphan) => this.#endOf(orphan))
  }

  #endOf({ since, movedAt }: Orphan): number {
    const { stallTimeoutMs, attemptTimeoutMs } = this.#patience()
    return Math.min(movedAt + stallTimeoutMs, since + attemptTimeoutMs)
  }

  #take({ metadata, phase, progress }: DataVolumeView): Orphan {
    const { uid = '' } = metadata
    const now = this.#clock.monotonic()
    const fingerprint = `${phase}\n${progress}`
    const known = this.#known.get(uid) ?? { key: keyOf(metadata), since: now, movedAt: now, fingerprint }
    if (known.fingerprint !== fingerprint) Object.assign(known, { movedAt: now, fingerprint })
    this.#known.set(uid, known)
    return known
  }
}
