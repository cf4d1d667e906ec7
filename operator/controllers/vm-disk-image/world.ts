import type { Policy, Reason, VMDiskImageStatus } from '@open-terrain/constructs/operator'
import type { Observation } from '../../cluster/import-facts.ts'
import type { QuotaView } from '../../cluster/quotas.ts'
import type { ClaimView, DataSourceView, DataVolumeView, PodView, SnapshotView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { References } from '../../images/references.ts'
import type { Sighted } from './adoption-reads.ts'
import type { ResolvedSpec } from './decide/target.ts'
import type { DroppedFields } from './served-fields.ts'
import type { Certificates, Found, SecretContent } from './source-contents.ts'

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

/**
 * What may keep a slot beside an importer. `claim`: a PersistentVolumeClaim that CDI may still fill. `doubtful`: a pod or a claim that may be its own, or a stranger's. `orphaned`: an
 * importer whose DataVolume is gone and whose claim nobody deletes.
 */
export type SlotWait = 'claim' | 'doubtful' | 'orphaned'

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

/**
 * What the caches have of the objects that the target names, and of the names that its children take, as data of one moment. Without a target, because the
 * spec cannot be used, it names nothing.
 */
export interface Lookup {
  /** The Secret that the target names; undefined: it names none. */
  readonly secret: Found<SecretContent> | undefined
  /** The certificates in the ConfigMap that the target names; undefined: it names none. */
  readonly certificates: Found<Certificates> | undefined
  /** Which fields of DataVolumes the API server would drop without a word; undefined: not known yet. */
  readonly droppedFields: DroppedFields | undefined
  /** Whether the storage class is there: the one that the target names, or without a name a default one. */
  readonly hasStorageClass: boolean
  /** Whether CDI knows the named storage class, but no access mode for its claims. */
  readonly hasEmptyProfile: boolean
  /** Whether the snapshot class that the target names is there. */
  readonly hasSnapshotClass: boolean
  /** The drivers of the storage class and the snapshot class if they are known, and are not the same. Without a name: of the default storage class. */
  readonly driversApart: DriversApart | undefined
  /** The ResourceQuotas of the namespace. */
  readonly quotas: readonly QuotaView[]
  /** Whether the name of its volume is taken by a DataVolume or claim that is not ours: its kind and name. */
  readonly foreignVolume: string | undefined
  /** As `foreignVolume`, of the volume that the slot was taken for. */
  readonly foreignSlotVolume: string | undefined
  /** A claim with the name of its volume that is ours and outlived its DataVolume: `going` is deleted automatically, `orphaned` by nobody. */
  readonly leftoverClaim: 'none' | 'going' | 'orphaned'
  /** Name of a pod that has not ended and may fill a claim with the name of its volume, or its prime claim. */
  readonly leftoverImporter: string | undefined
  /** Whether the name of its snapshot is taken by a VolumeSnapshot that is not ours. */
  readonly hasForeignSnapshot: boolean
}

/** What an image has adopted, or is to adopt, as the caches and live reads have it. Nothing of it is a child. */
export interface AdoptableView {
  readonly dataVolume: DataVolumeView | undefined
  readonly claim: ClaimView | undefined
  readonly snapshot: SnapshotView | undefined
  /** Undefined until it was read. */
  readonly sighted: Sighted | undefined
  /** Name of another image that has adopted it. */
  readonly otherAdopter: string | undefined
  /** Of what the caches have of it. */
  readonly version: string
}

/** All that is known about one image at one moment. A plan is a function of this, and of the time. */
export interface ImageWorld {
  readonly image: ImageView
  readonly spec: ResolvedSpec
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
  /** The artifact, if it was adopted and is there. It is no child. */
  readonly adoptedArtifact?: ClaimView | SnapshotView | undefined
  /** Undefined: it has adopted nothing, and is not to. */
  readonly adoptable?: AdoptableView | undefined
  /** The DataSource named like the image, ours or not. */
  readonly dataSource: DataSourceView | undefined
  readonly observation: Observation
  /** Importers that CDI has made for downloads that had succeeded, and that have not started: by uid of the DataVolume. */
  readonly needless: ReadonlyMap<string, readonly PodView[]>
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
