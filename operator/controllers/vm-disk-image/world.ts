import type { ParsedSpec, Policy, Reason } from '@open-terrain/constructs'
import type { ImportNeeds } from '../../cluster/quotas.ts'
import type { ClaimView, DataSourceView, DataVolumeView, PodView, SnapshotView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { References } from '../../images/references.ts'

/** A slot in the ledger: this attempt may download. */
export interface Holder {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly revision: string
  readonly attempt: number
  /** The process that took it, from the queue or from who led before. Nobody else frees it. */
  readonly claimant: string
}

/** Why an image cannot start now. It takes no slot, blocks nobody, and starts when this has changed. */
export interface Blocked {
  readonly reason: Reason
  /** One sentence: what is missing, and what to do. */
  readonly message: string
  /** Wall clock, ms: when it is over, where that is known. */
  readonly until?: number | undefined
}

/** The API server, or CDI's webhook, refused the DataVolume of this revision. Without an end it holds until the spec changes. */
export interface Refusal extends Blocked {
  readonly revision: string
  /** A new budget is a new try. */
  readonly budgetKey: string
}

/** A refusal that is not in the book yet, which says how long it holds. */
export type Refused = Omit<Refusal, 'until'>

/** What is known about the surroundings of all images. */
export interface Surroundings {
  readonly hasDataVolumes: boolean
  readonly hasSnapshots: boolean
  readonly hasDataSources: boolean
}

/** What exists of the things that an image names. */
export interface Lookup {
  secret(name: string): boolean
  configMap(name: string): boolean
  storageClass(name: string): boolean
  /** Whether there is a class for claims that name none. */
  readonly hasDefaultStorageClass: boolean
  snapshotClass(name: string): boolean
  /** CDI knows the class, and no access mode for its claims. */
  hasEmptyProfile(storageClass: string): boolean
  /** Which ResourceQuota leaves no room for an import, and for what of it. */
  lackOfRoom(needs: ImportNeeds): { readonly quota: string; readonly what: string } | undefined
  /** A DataVolume or claim of this name, in the image's namespace, that is not ours. */
  foreignVolume(name: string): string | undefined
  /** A claim of this name that is ours and outlived its DataVolume: `going` by itself, or `orphaned`, which nobody deletes. */
  leftoverClaim(name: string): 'none' | 'going' | 'orphaned'
  /** Name of a living pod that fills a claim of this name, or its prime claim. */
  leftoverImporter(name: string): string | undefined
  /** A VolumeSnapshot of this name that is not ours. */
  foreignSnapshot(name: string): boolean
}

/** How an unfinished DataVolume has been doing, over time; or how it had been when it went. */
export interface Observation {
  readonly dataVolumeUid: string | undefined
  /** Its importers: those that live, those that have ended, and those that are being deleted. */
  readonly importers: readonly PodView[]
  /** Milliseconds since this process first saw it, and since anything about its progress changed. */
  readonly seenMs: number
  readonly unchangedMs: number
  /** The importer pod that has run, the latest where there were more. */
  readonly importerPodUid: string | undefined
  /** Downloads that its importers have begun, each start of a container; undefined where none was seen. */
  readonly starts: number | undefined
  /** One that has run is being deleted unfinished, or another one is in its place. */
  readonly isImporterLost: boolean
  /** Why CDI cannot create the claim that it fills, where a live look has found that. The DataVolume says nothing of it. */
  readonly claimRefusal?: string | undefined
}

export const NOTHING_SEEN: Observation = {
  dataVolumeUid: undefined,
  importers: [],
  seenMs: 0,
  unchangedMs: 0,
  importerPodUid: undefined,
  starts: undefined,
  isImporterLost: false,
}

/** All that is known about one image at one moment. A plan is a function of this, and of the time. */
export interface ImageWorld {
  readonly image: ImageView
  readonly spec: ParsedSpec
  readonly policy: Policy
  readonly namespaceTerminating: boolean
  readonly surroundings: Surroundings
  readonly lookup: Lookup
  readonly slot: Holder | undefined
  /** False while a download is there that the ledger, as last read, has no slot for: it is being read again. */
  readonly isSlotKnown: boolean
  /** How many images may download at once; 0 is a pause. */
  readonly limit: number
  /** Place in the queue, from 1; undefined while it does not wait for a slot. */
  readonly queuePosition: number | undefined
  readonly refusal: Refusal | undefined
  /** It has a slot, and its DataVolume is asked for in vain. */
  readonly isAskedInVain: boolean
  /** Ours alone; namesakes of others are in `lookup`. */
  readonly dataVolumes: readonly DataVolumeView[]
  readonly snapshots: readonly SnapshotView[]
  readonly claims: readonly ClaimView[]
  /** The DataSource named like the image, ours or not. */
  readonly dataSource: DataSourceView | undefined
  readonly observation: Observation
  /** CDI acts on no DataVolume: nothing is timed out meanwhile. */
  readonly isCdiAway: boolean
  readonly references: References
}
