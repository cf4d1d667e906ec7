import type { Basics } from '../../../runtime/basics.ts'
import type { Store } from '../../../runtime/store.ts'
import type { ImageMetrics } from '../image-metrics.ts'
import type { ClaimView, DataVolumeView, ImageView, PodView } from '../views.ts'
import type { Patience } from './orphaned-downloads.ts'
import type { SlotLedger } from './slot-ledger.ts'

export interface AdmissionOptions extends Basics {
  readonly metrics: ImageMetrics
  readonly ledger: SlotLedger
  /** Identity of this process. */
  readonly me: string
  readonly images: Store<ImageView>
  readonly dataVolumes: Store<DataVolumeView>
  /** Claims of volumes; all others in this folder are of slots. */
  readonly volumeClaims: Store<ClaimView>
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

export interface ClaimsOptions extends Omit<AdmissionOptions, 'metrics' | 'refresh'> {
  /** A claim may be over, or its DataVolume is due. */
  readonly wake: () => void
  /** A claim was about to be used, and the ledger was not there any more. */
  readonly onLedgerLost: () => void
}
