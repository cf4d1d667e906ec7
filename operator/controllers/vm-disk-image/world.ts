import type { ParsedSpec, Policy, Reason, VMDiskImageStatus } from '@open-terrain/constructs'
import type { Observation } from '../../cluster/import-facts.ts'
import type { ImportNeeds, QuotaRefusal } from '../../cluster/quotas.ts'
import type { ClaimView, DataSourceView, DataVolumeView, SnapshotView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { References } from '../../images/references.ts'
import type { DroppedFields } from './served-fields.ts'
import type { Certificates, SecretContent } from './source-contents.ts'

/** A slot in the ledger: this attempt may download. */
export interface Holder {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly revision: string
  readonly attempt: number
  /** The process that took it, for an image in the queue or from the previous leader. No other process frees it. */
  readonly claimant: string
}

/** What may keep a slot beside an importer. `claim`: CDI may still fill it. `doubtful`: a pod or a claim that may be its own, or a stranger's. */
export type SlotWait = 'claim' | 'doubtful'

/** Why an image cannot start now. It takes no slot, blocks no other image, and starts when this has changed. */
export interface Blocked {
  readonly reason: Reason
  /** One sentence: what is missing, and what to do. */
  readonly message: string
  /** When it ends, if known. Wall clock, in milliseconds. */
  readonly until?: number | undefined
}

/** The API server, or CDI's webhook, refused the DataVolume of this revision. Without `until` it holds until the spec changes. */
export interface Refusal extends Blocked {
  readonly revision: string
  /** A new budget allows a new try. */
  readonly budgetKey: string
}

export interface DriversApart {
  readonly ofVolumes: string
  readonly ofSnapshots: string
}

/** Looks up what exists of the objects that an image names. */
export interface Lookup {
  secret(name: string): boolean
  /** Returns what a live read found in it; undefined: not read yet. The image is reconciled when it is. */
  secretContent(name: string): SecretContent | undefined
  configMap(name: string): boolean
  /** As {@link secretContent}. */
  certificates(name: string): Certificates | undefined
  /** Which fields of DataVolumes the API server would drop without a word; undefined: not known yet. */
  readonly droppedFields: DroppedFields | undefined
  storageClass(name: string): boolean
  /** Whether there is a class for claims that name none. */
  readonly hasDefaultStorageClass: boolean
  snapshotClass(name: string): boolean
  /** Returns the drivers of a storage class and a snapshot class if they are known, and are not the same. Without a storage class: of the default one. */
  driversApart(storageClass: string | undefined, snapshotClass: string): DriversApart | undefined
  /** Reports whether CDI knows the class, but no access mode for its claims. */
  hasEmptyProfile(storageClass: string): boolean
  /** Returns which ResourceQuota leaves no room for an import, and what does not fit. */
  lackOfRoom(needs: ImportNeeds): { readonly quota: string; readonly what: string } | undefined
  /** As {@link lackOfRoom}, for what a quota refused to CDI before. */
  lackAfter(refusal: QuotaRefusal): string | undefined
  /** The ResourceQuotas that limit pods, with what is used of them. */
  podQuotas(): readonly string[]
  /** A DataVolume or claim of this name, in the image's namespace, that is not ours. */
  foreignVolume(name: string): string | undefined
  /** A claim of this name that is ours and outlived its DataVolume: `going` is deleted automatically, `orphaned` by nobody. */
  leftoverClaim(name: string): 'none' | 'going' | 'orphaned'
  /** Name of a pod that has not ended and may fill a claim of this name, or its prime claim. */
  leftoverImporter(name: string): string | undefined
  /** A VolumeSnapshot of this name that is not ours. */
  foreignSnapshot(name: string): boolean
}

/** All that is known about one image at one moment. A plan is a function of this, and of the time. */
export interface ImageWorld {
  readonly image: ImageView
  readonly spec: ParsedSpec
  readonly policy: Policy
  readonly namespaceTerminating: boolean
  /** What the cluster serves. */
  readonly surroundings: Readonly<Record<'hasDataVolumes' | 'hasSnapshots' | 'hasDataSources', boolean>>
  readonly lookup: Lookup
  readonly slot: Holder | undefined
  /** False while there is a download without a slot in the ledger as last read: the ledger is being read again. */
  readonly isSlotKnown: boolean
  /** How many images may download at once; 0 is a pause. */
  readonly limit: number
  /** Place in the queue, from 1; undefined while it does not wait for a slot. */
  readonly queuePosition: number | undefined
  readonly refusal: Refusal | undefined
  /** It has a slot, but requests to create its DataVolume fail or get no response. */
  readonly isCreateFailing: boolean
  /** What else than an importer has kept its slot for a while. */
  readonly slotWaitsFor: SlotWait | undefined
  /** The API server's answer when it last refused something that the image needs, its DataVolume aside. */
  readonly writeRefusal?: string | undefined
  /** Only those of the image; others of the same name are in `lookup`. */
  readonly dataVolumes: readonly DataVolumeView[]
  readonly snapshots: readonly SnapshotView[]
  readonly claims: readonly ClaimView[]
  /** The DataSource named like the image, ours or not. */
  readonly dataSource: DataSourceView | undefined
  readonly observation: Observation
  /** CDI acts on no DataVolume: nothing times out meanwhile. */
  readonly isCdiAway: boolean
  readonly references: References
}

/** How long a download may take. */
export type Patience = Pick<Policy, 'stallTimeoutMs' | 'attemptTimeoutMs'>

/** Returns the uid of the DataVolume that the status is about, until the end of its attempt is recorded. */
export function unrecordedDownload(status: VMDiskImageStatus): string | undefined {
  return isRecorded(status) ? undefined : status.dataVolumeUID
}

/** Reports whether the end of the attempt with this DataVolume is recorded. Default: the attempt that the status is about. */
export function isRecorded({ attempts = [], dataVolumeUID }: VMDiskImageStatus, uid = dataVolumeUID): boolean {
  return uid !== undefined && attempts.some((attempt) => attempt.dataVolumeUID === uid)
}
