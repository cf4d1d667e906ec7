import { vmDiskImage } from '@open-terrain/constructs'
import { controllerOfKind, ownerAmong } from '../../../cluster/ownership.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { isFinished } from '../decide/judge.ts'
import { unrecordedDownload } from '../decide/status.ts'
import type { Holder } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import type { LedgerState } from './decide/ledger-content.ts'
import { holdersByUid } from './decide/slots.ts'
import type { DownloadNotes } from './download-notes.ts'
import { holderOf, IMPORTING_INDEX, isDownloadOf } from './downloads.ts'

/** Downloads that no slot is held for. */
export class Strays {
  readonly #options: Pick<AdmissionOptions, 'images' | 'dataVolumes' | 'me'>
  readonly #downloads: DownloadNotes
  /** Uids of those that had no slot in a ledger that was read after they were observed. */
  #known: ReadonlySet<string> = new Set()

  constructor(options: Pick<AdmissionOptions, 'images' | 'dataVolumes' | 'me'>, downloads: DownloadNotes) {
    this.#options = options
    this.#downloads = downloads
  }

  /** Reports whether this download certainly has no slot. */
  isKnown(dataVolume: DataVolumeView): boolean {
    const isUnheld = !isFinished(dataVolume) && this.#known.has(dataVolume.metadata.uid ?? '')
    return isUnheld || this.#downloads.isOver(dataVolume)
  }

  areAllKnown(ledger: LedgerState): boolean {
    return this.#of(ledger).every((one) => this.isKnown(one))
  }

  /** Returns the uids of all unfinished downloads. The caller must take them before it reads a ledger. */
  seen(): ReadonlySet<string | undefined> {
    return new Set(this.#options.dataVolumes.find(IMPORTING_INDEX, 'ours').map(({ metadata }) => metadata.uid))
  }

  /** Records which of the downloads seen before the read have no slot in this ledger. Returns the images of those newly recorded. */
  note(ledger: LedgerState, seen: ReadonlySet<string | undefined>): ImageView[] {
    const strays = this.#of(ledger).filter(({ metadata }) => seen.has(metadata.uid))
    const added = strays.filter((one) => !this.isKnown(one))
    this.#known = new Set(strays.map(({ metadata }) => metadata.uid ?? ''))
    return added.flatMap((one) => ownerAmong(one, this.#options.images) ?? [])
  }

  /** Returns how many of them the operator created. */
  countOurs(ledger: LedgerState): number {
    return this.#of(ledger).filter((one) => this.#isOurs(one)).length
  }

  #of(ledger: LedgerState): DataVolumeView[] {
    const { dataVolumes, images } = this.#options
    return dataVolumes.find(IMPORTING_INDEX, 'ours').filter((one) => {
      const holder = holdersByUid(ledger).get(controllerOfKind(one, vmDiskImage)?.uid ?? '')
      const isHeld = holder !== undefined && isDownloadOf(one, holder)
      // Anybody can name an owner that does not exist: such a download does not count.
      return !isHeld && ownerAmong(one, images) !== undefined && !this.#downloads.isOver(one)
    })
  }

  /**
   * Reports whether the operator created this download, according to the status of its image or to this process. Anyone who may write in the
   * namespace of an image can create look-alikes: these are deleted too, but take no slot from anybody, even when their end is recorded.
   */
  #isOurs(dataVolume: DataVolumeView): boolean {
    const { uid } = dataVolume.metadata
    const status = ownerAmong(dataVolume, this.#options.images)?.status
    if (status === undefined || uid === undefined) return false
    if (this.#downloads.wasHeld(dataVolume) || unrecordedDownload(status) === uid) return true
    return status.attempts?.some((one) => one.dataVolumeUID === uid && one.outcome === 'Succeeded') === true
  }

  /** Returns those that are being deleted, as holders of a slot. They count until they can no longer download anything. */
  leaving(ledger: LedgerState): Holder[] {
    const { images, me } = this.#options
    return this.#of(ledger).flatMap((one) => {
      const image = isTerminating(one) ? ownerAmong(one, images) : undefined
      return (image && holderOf(image, one, me)) ?? []
    })
  }
}
