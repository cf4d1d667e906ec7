import type { DataVolumeView } from '../../../cluster/views.ts'
import { keyOf } from '../../../kube/kube-object.ts'
import type { AdmissionOptions } from './admission-options.ts'
import { type Download, isTimed, timesOf, withObserved } from './decide/download.ts'

/** With fewer downloads, pruning them is not worth a scan. */
const LEAST = 64

interface Entry {
  readonly key: string
  readonly download: Download
}

/** What this process has observed of downloads, until their DataVolumes are gone. Finished ones stay, since CDI may begin them again. */
export class SeenDownloads {
  readonly #options: Pick<AdmissionOptions, 'dataVolumes' | 'clock' | 'patience'>
  /** By uid of the DataVolume. */
  readonly #entries = new Map<string, Entry>()
  /** Those of them about which time alone changes something: few of thousands. */
  readonly #timed = new Map<string, Download>()
  #revision = 0
  #pruneFrom = LEAST

  constructor(options: Pick<AdmissionOptions, 'dataVolumes' | 'clock' | 'patience'>) {
    this.#options = options
  }

  /** Records what a DataVolume looks like now. */
  see(dataVolume: DataVolumeView): Download {
    return this.#put(dataVolume, withObserved(this.#of(dataVolume), dataVolume, this.#options.clock.monotonic()))
  }

  noteHeld(dataVolume: DataVolumeView): void {
    this.#put(dataVolume, { ...this.see(dataVolume), wasHeld: true })
  }

  /** Reports whether this process has seen a slot for this download. */
  wasHeld(dataVolume: DataVolumeView): boolean {
    return this.#of(dataVolume)?.wasHeld === true
  }

  /** Live reads of a download that is being deleted have found that nothing can download for it any more. */
  setOver(dataVolume: DataVolumeView): void {
    const { wasHeld, orphan } = this.see(dataVolume)
    this.#put(dataVolume, { state: 'over', wasHeld, orphan })
    this.#revision += 1
  }

  /** Another number after each {@link setOver}. */
  get revision(): number {
    return this.#revision
  }

  /** Reports whether a DataVolume that still exists can no longer download anything. */
  isOver(dataVolume: DataVolumeView): boolean {
    return this.#of(dataVolume)?.state === 'over'
  }

  /** Forgets what is gone. A fleet has thousands of finished downloads, so not every change causes a scan of all. */
  prune(): void {
    if (this.#entries.size < this.#pruneFrom) return
    for (const [uid, { key }] of this.#entries)
      if (this.#options.dataVolumes.get(key)?.metadata.uid !== uid) this.#drop(uid)
    this.#pruneFrom = Math.max(LEAST, 2 * this.#entries.size)
  }

  /** Returns the times, past or future, at which live reads are due and the time of orphans is over. */
  times(): number[] {
    const patience = this.#options.patience()
    return [...this.#timed.values()].flatMap((download) => timesOf(download, patience))
  }

  #of({ metadata }: DataVolumeView): Download | undefined {
    return this.#entries.get(metadata.uid ?? '')?.download
  }

  #put({ metadata }: DataVolumeView, download: Download): Download {
    const { uid = '' } = metadata
    this.#entries.set(uid, { key: keyOf(metadata), download })
    if (isTimed(download)) this.#timed.set(uid, download)
    else this.#timed.delete(uid)
    return download
  }

  #drop(uid: string): void {
    this.#entries.delete(uid)
    this.#timed.delete(uid)
  }
}
