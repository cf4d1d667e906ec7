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
  /** Those that had no slot in a ledger that was read after they were seen, by uid. */
  #known: ReadonlySet<string> = new Set()

  constructor(options: Pick<AdmissionOptions, 'images' | 'dataVolumes' | 'me'>, slots: HeldSlots) {
    this.#options = options
    this.#slots = slots
  }

  /** Whether this download has no slot, for certain. */
  isKnown(dataVolume: DataVolumeView): boolean {
    if (this.#slots.isOverAndLeft(dataVolume)) return true
    return !isFinished(dataVolume) && this.#known.has(dataVolume.metadata.uid ?? '')
  }

  areAllKnown(ledger: LedgerState): boolean {
    return this.#of(ledger).every((one) => this.isKnown(one))
  }

  /** Uids of all downloads, to be taken before a ledger is read. */
  seen(): ReadonlySet<string | undefined> {
    return new Set(this.#options.dataVolumes.find(IMPORTING_INDEX, 'ours').map(({ metadata }) => metadata.uid))
  }

  /** Takes in what a ledger tells of those that were seen before. Returns the images of which that is news. */
  note(ledger: LedgerState, seen: ReadonlySet<string | undefined>): ImageView[] {
    const strays = this.#of(ledger).filter(({ metadata }) => seen.has(metadata.uid))
    const news = strays.filter((one) => !this.isKnown(one))
    this.#known = new Set(strays.map(({ metadata }) => metadata.uid ?? ''))
    return news.flatMap((one) => ownerAmong(one, this.#options.images) ?? [])
  }

  /** How many of them we have made. */
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
    // Anybody can name an owner that does not exist: such a one counts for nothing.
    const hasOwner = (one: DataVolumeView) => ownerAmong(one, images) !== undefined
    const importing = dataVolumes.find(IMPORTING_INDEX, 'ours')
    return importing.filter((one) => !isHeld(one) && hasOwner(one) && !this.#slots.isOverAndLeft(one))
  }

  /**
   * Whether we have made this download, as far as its image or this process remembers. Anyone who may write in the namespace of an image can make others that look the same: those
   * are deleted too, and take no slot from anybody, nor because their end is written down.
   */
  #isOurs(dataVolume: DataVolumeView): boolean {
    const { uid } = dataVolume.metadata
    const status = ownerAmong(dataVolume, this.#options.images)?.status
    if (status === undefined || uid === undefined) return false
    const isUnderWay = unrecordedDownload(status) === uid
    const hasSucceeded = status.attempts?.some((one) => one.dataVolumeUID === uid && one.outcome === 'Succeeded')
    return this.#slots.wasHeld(dataVolume) || isUnderWay || hasSucceeded === true
  }

  /** Those that are being deleted, as what would hold a slot: they count until they can download nothing any more. */
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
