import type { ClaimView, DataVolumeView, PodView } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { Basics } from '../../../runtime/basics.ts'
import type { Store } from '../../../runtime/store.ts'
import type { Patience } from '../world.ts'
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
  /** Returns the limit that the policy wants, given the limit in the ledger. */
  readonly limit: (ledgerLimit: number | undefined) => number
  /** Timeouts of the policy, for downloads that have lost their owner. */
  readonly patience: () => Patience
  /** Refreshes the caches of images and DataVolumes, which a former leader may have changed until a moment ago. Throws ApiError. */
  readonly refresh: (signal: AbortSignal) => Promise<void>
  /** Called with the key of an image to reconcile: it got a slot, lost it, or was refused. */
  readonly onChange: (key: string) => void
  /** Called with the message of a create whose webhook could not be called. */
  readonly onUnreached?: (message: string) => void
}

export interface HeldSlotsOptions extends Omit<AdmissionOptions, 'metrics' | 'refresh'> {
  /** Called when a slot may be empty, or its DataVolume is due. */
  readonly wake: () => void
  /** Reads the ledger again. Throws what the ledger throws. */
  readonly reload: (signal: AbortSignal) => Promise<unknown>
}
