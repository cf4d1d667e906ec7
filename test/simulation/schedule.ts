import type { ServerView } from '../../sandbox/memory-cluster/index.ts'
import type { AdoptionPlan } from './adoptions/adoption-schedule.ts'
import type { DataSyncAction, DataSyncPlan } from './data-syncs/data-sync-schedule.ts'
import type { MachineAction, MachinePlan, SourcePlan } from './machines/machine-schedule.ts'
import type { PointAction, PointPlan } from './workspace-snapshots/point-schedule.ts'
import type { WorkspaceAction, WorkspacePlan } from './workspaces/workspace-schedule.ts'

/**
 * What happens in one simulated run, as plain data: it is printed if the run fails, and can be replayed. Times are
 * virtual milliseconds. Images and steps refer to each other by number, modulo how many there are, so that the rest is
 * still meaningful when some are removed.
 */
export interface Schedule {
  /** Seed of everything that is random in the run: latencies, uids, which request a fault hits. */
  readonly seed: number
  readonly replicas: 1 | 2
  readonly policy: PolicyPlan
  readonly images: readonly ImagePlan[]
  /** Disks that are there, and images that adopt them. */
  readonly adoptions?: readonly AdoptionPlan[]
  readonly dataSyncs?: readonly DataSyncPlan[]
  readonly machines?: readonly MachinePlan[]
  /** The images that machines name. */
  readonly sources?: readonly SourcePlan[]
  readonly workspaces?: readonly WorkspacePlan[]
  /** Points in time of the workspaces. */
  readonly points?: readonly PointPlan[]
  /** Storage of workspaces waits for the pod that first uses it: their disks, and their volumes that are not in a folder of a node. */
  readonly bindsLate?: true
  /** How long CDI takes for a clone. */
  readonly cloneMs?: number
  readonly steps: readonly Step[]
}

/** Keys of the policy ConfigMap at the start. */
export interface PolicyPlan {
  readonly concurrency: number
  readonly retryLimit: number
  readonly backoffSeconds: number
  readonly keepSourceVolume: boolean
  /** Other keys, as they are written. */
  readonly more?: Readonly<Record<string, string>>
  /** Downloads and snapshots do not time out: an operator that sees nothing for minutes stops nothing. */
  readonly isPatient?: true
}

/**
 * The result of each download of a source. `broken` always fails with an error that is retried, `missing` and
 * `forbidden` with one that is not.
 */
export type SourceNature = 'good' | 'missing' | 'forbidden' | 'broken' | 'blank'

export interface ImagePlan {
  /** Number of its namespace. */
  readonly namespace: number
  readonly nature: SourceNature
  readonly downloadSeconds: number
  /** Number of its VolumeSnapshotClass; undefined: the claim is the artifact. */
  readonly snapshotClass: number | undefined
  /** Number of the Secret that it names. The last one is missing at first. */
  readonly secret: number | undefined
  /** Number of its StorageClass. The last one is missing at first. */
  readonly storageClass: number
  /** The number of container runs of its importers that fail first, for each name of a DataVolume. */
  readonly failures: number
  /** After the start. */
  readonly createdAtMs: number
  /** The image is deleted this long after the end of its sync, successful or not. */
  readonly ttlSeconds: number | undefined
  /** Its spec violates the schema, as if it had been stored before the schema existed. */
  readonly isInvalid: boolean
}

export interface Step {
  /** After the previous step. */
  readonly afterMs: number
  readonly action: Action
}

export type Action =
  | DataSyncAction
  | MachineAction
  | WorkspaceAction
  | PointAction
  | ImageAction
  | CatalogAction
  | PolicyAction
  | LedgerAction
  | CdiAction
  | SurroundingsAction
  | ProcessAction
  | NetworkAction

export const EDITS = ['url', 'diskSize', 'snapshotClass', 'secretRef', 'storageClass', 'name', 'labels'] as const
export type Edit = (typeof EDITS)[number]

export const CHILDREN = ['DataVolume', 'PersistentVolumeClaim', 'VolumeSnapshot', 'Pod', 'DataSource'] as const
export type ChildKind = (typeof CHILDREN)[number]

/** Acts of people on one image. */
export type ImageAction = { readonly image: number } & (
  | { readonly do: 'edit'; readonly field: Edit; readonly value: number }
  /** `orphan`: kubectl delete --cascade=orphan. */
  | { readonly do: 'delete' | 'orphan' | 'recreate' | 'retryNow' | 'refresh' | 'spoil' | 'heal' }
  | { readonly do: 'suspend'; readonly suspend: boolean }
  | { readonly do: 'deleteChild'; readonly kind: ChildKind; readonly foreground: boolean }
  /** Somebody clones the artifact of the image, for this long. */
  | { readonly do: 'clone'; readonly forMs: number }
)

/** Objects that images name come and go. */
export type CatalogAction = {
  readonly do: 'toggle'
  readonly what: 'Secret' | 'StorageClass' | 'VolumeSnapshotClass'
  readonly number: number
}

export type PolicyAction =
  | { readonly do: 'setLimit'; readonly limit: number }
  | { readonly do: 'setRetryLimit'; readonly retryLimit: number }
  /** The value can be invalid. */
  | { readonly do: 'setPolicy'; readonly key: string; readonly value: string }
  | { readonly do: 'deletePolicy'; readonly forMs: number }

/** `floodLedger`: somebody writes this many holders into it that were never admitted. */
export type LedgerAction =
  | { readonly do: 'deleteLedger' | 'garbleLedger' }
  | { readonly do: 'floodLedger'; readonly holders: number }

export type CdiFaultType =
  | 'error'
  | 'hiddenError'
  | 'oomKilled'
  | 'evicted'
  | 'checksumMismatch'
  | 'scratchSpaceRequired'
  | 'stall'
  | 'imagePull'
  | 'unschedulable'
  | 'quota'
  | 'unprovisioned'
  | 'slowEnd'

/** Faults of imports, of one image or of all, and of snapshots. */
export type CdiAction =
  | {
      readonly do: 'cdiFault'
      readonly image: number | undefined
      readonly fault: CdiFaultType
      readonly times: number
      readonly forMs: number
    }
  | {
      readonly do: 'snapshotFault'
      readonly image: number
      readonly fault: 'error' | 'neverReady' | 'slow'
      readonly forMs: number
    }
  | { readonly do: 'restartSimulators'; readonly downMs: number }

export type System = 'CDI' | 'KubeVirt' | 'Multus'

/** A namespace is deleted, or the kinds of a system are removed with all their objects. They come back after `forMs`. */
export type SurroundingsAction =
  | { readonly do: 'deleteNamespace'; readonly namespace: number; readonly forMs: number }
  | { readonly do: 'uninstall'; readonly what: System; readonly forMs: number }
  /** A ResourceQuota leaves room for this many more claims, for a time. */
  | { readonly do: 'limitClaims'; readonly namespace: number; readonly more: number; readonly forMs: number }
  | OutageAction

export type OutageAction =
  /** Stops only cdi-controller: importers keep running, and their kubelets restart them. */
  | { readonly do: 'stopCdi'; readonly forMs: number }
  /** Stops only virt-controller: guests go on, and what it reported stays as it was. */
  | { readonly do: 'stopKubevirt'; readonly forMs: number }
  /** A node is drained: all importer pods of an image are deleted, and CDI creates new ones. */
  | { readonly do: 'drain'; readonly image: number }

/** Faults of one replica of the operator. */
export type ProcessAction =
  | { readonly do: 'crash'; readonly replica: number; readonly downMs: number }
  | { readonly do: 'stop'; readonly replica: number; readonly downMs: number }
  | { readonly do: 'freeze'; readonly replica: number; readonly forMs: number }

export const REQUEST_FAULTS = [
  'conflict',
  'tooManyRequests',
  'internalError',
  'unavailable',
  'gatewayTimeout',
  'loseRequest',
  'loseAnswer',
  'late',
] as const
export type RequestFault = (typeof REQUEST_FAULTS)[number]

export const WATCH_FAULTS = ['late', 'held', 'duplicated', 'lost', 'broken', 'frozen', 'replayed'] as const
export type WatchFault = (typeof WATCH_FAULTS)[number]

/** Faults between the operator and the API server, for a time. */
export type NetworkAction =
  | {
      readonly do: 'requestFaults'
      readonly fault: RequestFault
      readonly percent: number
      readonly forMs: number
      /** Only requests about this kind, such as `Pod`, or `VirtualMachine.kubevirt.io` where two groups have it. */
      readonly kind: string | undefined
    }
  | {
      readonly do: 'watchFaults'
      readonly fault: WatchFault
      readonly percent: number
      readonly forMs: number
      readonly kind: string | undefined
    }
  /** All watches are opened again. From then on, this share of watches is served by a second API server that lags behind. */
  | ({ readonly do: 'laggingServer'; readonly percent: number; readonly forMs: number } & ServerView)
  | { readonly do: 'compact' | 'breakWatches' }

/** Reports whether the action disturbs the operator or its link to the API server. It must handle all others in any case. */
function isDisturbance({ do: what }: Action): boolean {
  return DISTURBANCES.has(what)
}

const DISTURBANCES: ReadonlySet<string> = new Set<Action['do']>([
  'crash',
  'stop',
  'freeze',
  'requestFaults',
  'watchFaults',
  'laggingServer',
  'compact',
  'breakWatches',
])

/** Returns the schedule without disturbances of the operator, to compare its end state with. Times stay the same. */
export function withoutDisturbances(schedule: Schedule): Schedule {
  return { ...schedule, steps: only(schedule.steps, (action) => !isDisturbance(action)) }
}

/**
 * Returns the schedule without acts of people and CDI: images are created, and each download ends as its source says. That alone then
 * decides what the operator writes for an image, whatever disturbs it, and the writes can be counted. For this, nothing may depend on how
 * long something takes: a failed import that CDI restarts while no operator observes it saves a DataVolume.
 */
export function withoutActs(schedule: Schedule): Schedule {
  const { policy, images, steps } = schedule
  return {
    ...schedule,
    policy: { ...policy, retryLimit: Math.max(1, policy.retryLimit), isPatient: true },
    images: images.map((image) => ({
      ...image,
      nature: image.nature === 'broken' ? 'good' : image.nature,
      failures: 0,
      ttlSeconds: undefined,
      // Long enough for a status to show it.
      downloadSeconds: Math.max(1, image.downloadSeconds),
    })),
    steps: only(steps, isDisturbance),
  }
}

/** Returns the wanted steps, at the times that they had among the others. */
function only(steps: readonly Step[], isWanted: (action: Action) => boolean): Step[] {
  let debtMs = 0
  return steps.flatMap((step) => {
    debtMs += step.afterMs
    if (!isWanted(step.action)) return []
    const moved = { ...step, afterMs: debtMs }
    debtMs = 0
    return [moved]
  })
}
