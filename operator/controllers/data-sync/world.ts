import type {
  DataSyncStatus,
  ImageTriple,
  ParsedDataSyncSpec,
  Policy,
  VMDiskImageSpec,
} from '@open-terrain/constructs/operator'
import type { OwnView } from '../../cluster/own-view.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { ObjectMeta } from '../../kube/kube-object.ts'

/** A DataSync as its cache holds it. */
export interface DataSyncView extends OwnView {
  readonly status: DataSyncStatus
}

/** What a DataSync wants of one image. */
export interface Wish {
  /** Its name, for people. */
  readonly dataSync: string
  /** Its identity. */
  readonly metadata: ObjectMeta
  readonly triple: ImageTriple
  readonly spec: VMDiskImageSpec
  /** Its annotations `sync-requested-at` and `retry-requested-at`, if set. The cache keeps no others. */
  readonly requests: Readonly<Record<string, string>>
}

/** All that is known about the image of one vm. */
export interface WantedImage {
  readonly wish: Wish
  /** The VMDiskImage that has the name of the image now. */
  readonly image: ImageView | undefined
  /** What other DataSyncs of the namespace want of it. Those that are being deleted or have an invalid spec want nothing. */
  readonly others: readonly Wish[]
}

/** All that is known about one DataSync at one moment. A plan is a function of this, and of the time. */
export interface DataSyncWorld {
  readonly dataSync: DataSyncView
  readonly spec: ParsedDataSyncSpec
  readonly namespaceTerminating: boolean
  /** In the order of `spec.vms`; empty if the spec is invalid. */
  readonly images: readonly WantedImage[]
  /** What the API server answered when it last refused something that the DataSync needs. */
  readonly refusal: string | undefined
  readonly policy: Partial<Policy>
}
