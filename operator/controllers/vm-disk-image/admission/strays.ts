import { vmDiskImage } from '@open-terrain/constructs'
import { controllerOfKind, ownerAmong } from '../../../cluster/ownership.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { isFinished } from '../decide/judge.ts'
import { unrecordedDownload } from '../decide/status.ts'
import type { Holder } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import type { LedgerState } from './decide/ledger-content.ts'
import { isHeldBy } from './decide/slots.ts'
import { holderOf, IMPORTING_INDEX } from './downloads.ts'
import type { HeldSlots } from './held-slots.ts'

/** Downloads that no slot is held for. */
export class Strays {
  readonly #options: Pick<AdmissionOptions, 'images' | 'dataVolumes' | 'me'>
  readonly #slots: HeldSlots
  /** Uids of those that had no slot in a ledger that was read after they were observed. */
  #known: ReadonlySet<string> = new Set()

  constructor(options: Pick<AdmissionOptions, 'images' | 'dataVolumes' | 'me'>, slots: HeldSlots) {
    this.#options = options
    this.#slots = slots
  }

  /** Reports whether this download certainly has no slot. */
  isKnown(dataVolume: DataVolumeView): boolean {
    if (this.#slots.isOverAndLeft(dataVolume)) return true
    return !isFinished(dataVolume) && this.#known.has(dataVolume.metadata.uid ?? '')
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

  #of({ holders }: LedgerState): DataVolumeView[] {
    const { dataVolumes, images } = this.#options
    const byUid = new Map(holders.map((one) => [one.uid, one]))
    const isHeld = (one: DataVolumeView) => {
      const holder = byUid.get(controllerOfKind(one, vmDiskImage)?.uid ?? '')
      return holder !== undefined && isHeldBy(one, holder)
    }
    // Anybody can name an owner that does not exist: such a download does not count.
    const hasOwner = (one: DataVolumeView) => ownerAmong(one, images) !== undefined
    const importing = dataVolumes.find(IMPORTING_INDEX, 'ours')
    return importing.filter((one) => !isHeld(one) && hasOwner(one) && !this.#slots.isOverAndLeft(one))
  }

  /**
   * Reports whether the operator created this download, according to the status of its image or to this process. Anyone who may write in the
   * namespace of an image can create look-alikes: these are deleted too, but take no slot from anybody, even when their end is recorded.
   */
  #isOurs(dataVolume: DataVolumeView): boolean {
    const { uid } = dataVolume.metadata
    const status = ownerAmong(dataVolume, this.#options.images)?.status
    if (status === undefined || uid === undefined) return false
    const isUnderWay = unrecordedDownload(status) === uid
    const hasSucceeded = status.attempts?.some((one) => one.dataVolumeUID === uid && one.outcome === 'Succeeded')
    return this.#slots.wasHeld(dataVolume) || isUnderWay || hasSucceeded === true
  }

  /** Returns those that are being deleted, as holders of a slot. They count until they can no longer download anything. */
  leaving(ledger: LedgerState | undefined): Holder[] {
    const { images, me } = this.#options
    const strays = ledger === undefined ? [] : this.#of(ledger)
    const isLeaving = ({ metadata }: DataVolumeView) => metadata.deletionTimestamp !== undefined
    return strays.filter(isLeaving).flatMap((one) => {
      const image = ownerAmong(one, images)
      return (image && holderOf(image, one, me)) ?? []
    })
  }
}
