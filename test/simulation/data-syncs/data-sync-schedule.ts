/** A DataSync of a schedule. Workspaces, versions, vms and sources are given by number, so that many DataSyncs want the same image. */
export interface DataSyncPlan {
  readonly namespace: number
  readonly workspace: number
  readonly version: number
  readonly vms: readonly VmPlan[]
  /** Number of the VolumeSnapshotClass that its vms share. Undefined: none, so that claims are the artifacts. */
  readonly snapshotClass: number | undefined
  readonly createdAtMs: number
}

export interface VmPlan {
  readonly vm: number
  /** Number of its source: see `SOURCES`. */
  readonly source: number
}

/** What people and pipelines do to one DataSync, or to the image of one of its vms. */
export type DataSyncAction = { readonly dataSync: number } & (
  | { readonly do: 'deleteDataSync' | 'recreateDataSync' | 'askForSync' | 'askForRetry' }
  | { readonly do: 'setVm'; readonly vm: number; readonly source: number }
  /** This and `setVersion` make the same DataSync want other images, like a pipeline that was corrected. */
  | { readonly do: 'removeVm'; readonly vm: number }
  | { readonly do: 'setVersion'; readonly version: number }
  | { readonly do: 'setDefault'; readonly snapshotClass: number | undefined }
  | { readonly do: 'deleteVmImage'; readonly vm: number }
  /** A person changes the image itself. */
  | { readonly do: 'editVmImage'; readonly vm: number; readonly source: number }
  /** A person creates an image of their own with that name, if it is free. */
  | { readonly do: 'takeVmName'; readonly vm: number }
)
