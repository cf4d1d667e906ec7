import { vmDiskImage } from '@open-terrain/constructs/operator'
import { isFinished } from '../../../cluster/import-facts.ts'
import { controllerOfKind, ownerAmong } from '../../../cluster/ownership.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { type Holder, unrecordedDownload } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import { isDownloadOf } from './decide/download.ts'
import type { LedgerState } from './decide/ledger-content.ts'
import { holdersByUid, slotKeyOf, volumeKeyOf } from './decide/slots.ts'
import { holderOf, IMPORTING_INDEX } from './downloads.ts'
import type { HeldSlots } from './held-slots.ts'
import type { SeenDownloads } from './seen-downloads.ts'

/** Downloads that no slot is held for. */
export class Strays {
  readonly #options: Pick<AdmissionOptions, 'images' | 'dataVolumes' | 'me'>
  readonly #downloads: SeenDownloads
  readonly #slots: Pick<HeldSlots, 'isOver' | 'follow'>
  /** Downloads of the operator that were seen without a slot, by uid of their DataVolume, until they can no longer download anything. */
  readonly #followed = new Map<string, Holder>()
  /** Uids of those that had no slot in a ledger that was read after they were observed. */
  #known: ReadonlySet<string> = new Set()
  /** What {@link #of} last returned, and of what. */
  #last: { readonly of: readonly unknown[]; readonly found: readonly DataVolumeView[] } = { of: [], found: [] }

  constructor(options: Pick<AdmissionOptions, 'images' | 'dataVolumes' | 'me'>, slots: HeldSlots) {
    this.#options = options
    this.#downloads = slots.downloads
    this.#slots = slots
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

  /** Returns how many of them the operator created. One whose DataVolume is gone counts until nothing can download for it any more. */
  countOurs(ledger: LedgerState): number {
    const ours = this.#of(ledger).filter((one) => this.#isOurs(one))
    this.#follow(ours)
    return ours.length + this.#gone(ledger, ours).length
  }

  #follow(ours: readonly DataVolumeView[]): void {
    const { images, me } = this.#options
    for (const one of ours) {
      const { uid = '' } = one.metadata
      const image = this.#followed.has(uid) ? undefined : ownerAmong(one, images)
      const standIn = image && holderOf(image, one, me)
      if (standIn === undefined) continue
      this.#slots.follow(standIn)
      this.#followed.set(uid, standIn)
    }
  }

  /** Returns those whose DataVolumes are gone, as holders of a slot. A slot of the same attempt is held for all that is left of it. */
  #gone(ledger: LedgerState, ours: readonly DataVolumeView[]): Holder[] {
    if (this.#followed.size === 0) return []
    const present = new Set(ours.map(({ metadata }) => metadata.uid))
    for (const [uid, standIn] of this.#followed) {
      const holder = holdersByUid(ledger).get(standIn.uid)
      const isHeld = holder !== undefined && slotKeyOf(holder) === slotKeyOf(standIn)
      if (isHeld || this.#isOver(uid, standIn)) this.#followed.delete(uid)
    }
    return [...this.#followed].flatMap(([uid, standIn]) => (present.has(uid) ? [] : [standIn]))
  }

  /** Reports whether it is no stray any more: it has succeeded or lost its owner, or nothing can download for it. */
  #isOver(uid: string, standIn: Holder): boolean {
    const { dataVolumes, images } = this.#options
    const found = dataVolumes.get(volumeKeyOf(standIn))
    if (found?.metadata.uid !== uid) return this.#slots.isOver(standIn)
    return isFinished(found) || this.#downloads.isOver(found) || ownerAmong(found, images) === undefined
  }

  /** One step of the admission asks for this several times, and most that it asks about have a slot. */
  #of(ledger: LedgerState): readonly DataVolumeView[] {
    const { dataVolumes, images } = this.#options
    const of = [ledger, dataVolumes.revision, images.revision, this.#downloads.revision]
    if (of.some((one, at) => one !== this.#last.of[at])) this.#last = { of, found: this.#find(ledger) }
    return this.#last.found
  }

  #find(ledger: LedgerState): DataVolumeView[] {
    const { dataVolumes, images } = this.#options
    const holders = holdersByUid(ledger)
    return dataVolumes.find(IMPORTING_INDEX, 'ours').filter((one) => {
      const holder = holders.get(controllerOfKind(one, vmDiskImage)?.uid ?? '')
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

  /** Returns those of the operator, and all that are being deleted, as holders of a slot. They count until they can no longer download anything. */
  standIns(ledger: LedgerState): Holder[] {
    const { images, me } = this.#options
    const all = this.#of(ledger)
    const ours = all.filter((one) => this.#isOurs(one))
    const present = all.flatMap((one) => {
      const image = isTerminating(one) || ours.includes(one) ? ownerAmong(one, images) : undefined
      return (image && holderOf(image, one, me)) ?? []
    })
    return [...present, ...this.#gone(ledger, ours)]
  }
}
