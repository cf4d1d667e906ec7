import type { DataVolumeView } from '../../../cluster/views.ts'
import { keyOf } from '../../../kube/kube-object.ts'
import type { Store } from '../../../runtime/store.ts'

/** With fewer downloads, pruning is not worth a scan. */
const LEAST = 64

/** Downloads that this process has seen with a slot, as long as they exist or a little longer. */
export class SeenDownloads {
  readonly #dataVolumes: Pick<Store<DataVolumeView>, 'get'>
  /** Key by uid. */
  readonly #seen = new Map<string, string>()
  #mostBeforePruning = LEAST

  constructor(dataVolumes: Pick<Store<DataVolumeView>, 'get'>) {
    this.#dataVolumes = dataVolumes
  }

  note({ metadata }: DataVolumeView): void {
    this.#seen.set(metadata.uid ?? '', keyOf(metadata))
  }

  has({ metadata }: DataVolumeView): boolean {
    return this.#seen.has(metadata.uid ?? '')
  }

  /** Finished downloads stay, since CDI may begin them again. A fleet has thousands, so not every change causes a scan of all. */
  prune(): void {
    if (this.#seen.size < this.#mostBeforePruning) return
    for (const [uid, key] of this.#seen) if (this.#dataVolumes.get(key)?.metadata.uid !== uid) this.#seen.delete(uid)
    this.#mostBeforePruning = Math.max(LEAST, 2 * this.#seen.size)
  }
}
