import type { ClaimView, DataVolumeView, PodView } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { Basics } from '../../../runtime/basics.ts'
import type { Store } from '../../../runtime/store.ts'
import type { Patience } from '../decide/judge.ts'
import type { SlotLedger } from './slot-ledger.ts'

export interface AdmissionOptions extends Basics {
  readonly metrics: { admitted(image: ImageView | undefined): void }
  readonly ledger: SlotLedger
  /** Identity of this process. */
  readonly me: string
  readonly images: Store<ImageView>
  readonly dataVolumes: Store<DataVolumeView>
  readonly claims: Store<ClaimView>
  readonly pods: Store<PodView>
  /** The limit that the policy wants, given what the ledger says. */
  readonly limit: (ledgerLimit: number | undefined) => number
  /** The policy's, for downloads that have lost their owner. */
  readonly patience: () => Patience
  /** Brings the copies of images and DataVolumes up to date: who led before has changed them until a moment ago. Throws ApiErrors. */
  readonly refresh: (signal: AbortSignal) => Promise<void>
  /** The image should be looked at: it got a slot, lost it, or was refused. */
  readonly onChange: (key: string) => void
}

export interface HeldSlotsOptions extends Omit<AdmissionOptions, 'metrics' | 'refresh'> {
  /** A slot may be empty, or its DataVolume is due. */
  readonly wake: () => void
  /** Reads the ledger again. Throws what the ledger throws. */
  readonly reload: (signal: AbortSignal) => Promise<unknown>
}
