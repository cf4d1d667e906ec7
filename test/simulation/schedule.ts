import type { ServerView } from '../../sandbox/memory-cluster/index.ts'
import type { DataSyncAction, DataSyncPlan } from './data-syncs/data-sync-schedule.ts'
import type { MachineAction, MachinePlan, SourcePlan } from './machines/machine-schedule.ts'
import type { WorkspaceAction, WorkspacePlan } from './workspaces/workspace-schedule.ts'

/**
 * What happens in one simulated run, as plain data: it is printed when a run fails, and replayed from there. Times are
 * virtual milliseconds. Images and steps refer to each other by number, modulo how many there are, so that taking some
 * away leaves the rest meaningful.
 */
export interface Schedule {
  /** Of everything that chance decides inside the run: latencies, uids, which request a fault strikes. */
  readonly seed: number
  readonly replicas: 1 | 2
  readonly policy: PolicyPlan
  readonly images: readonly ImagePlan[]
  readonly dataSyncs?: readonly DataSyncPlan[]
  readonly machines?: readonly MachinePlan[]
  /** The images that machines name. */
  readonly sources?: readonly SourcePlan[]
  readonly workspaces?: readonly WorkspacePlan[]
  /** How long CDI takes for a clone. */
  readonly cloneMs?: number
  readonly steps: readonly Step[]
}

/** Keys of the policy ConfigMap at the start. Times are short: nobody waits for them. */
export interface PolicyPlan {
  readonly concurrency: number
  readonly retryLimit: number
  readonly backoffSeconds: number
  readonly keepSourceVolume: boolean
  /** Other keys, as they are written. */
  readonly more?: Readonly<Record<string, string>>
  /** No download and no snapshot is given up for the time that it takes: whoever sees nothing for minutes stops nothing. */
  readonly isPatient?: true
}

/**
 * What a download of a source comes to, for ever. `broken` fails each time for a reason that may pass, `missing` and
 * `forbidden` for one that may not.
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
  /** The first so many downloads fail, once for each container run. */
  readonly failures: number
  /** After the start. */
  readonly createdAtMs: number
  /** Deletes itself so long after its sync came to rest, well or not. */
  readonly ttlSeconds: number | undefined
  /** Its spec breaks the schema, as if it had been stored before there was one. */
  readonly isInvalid: boolean
}

export interface Step {
  /** After the step before. */
  readonly afterMs: number
  readonly action: Action
}

export type Action =
  | DataSyncAction
  | MachineAction
  | WorkspaceAction
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

/** By people, to one image. */
export type ImageAction =
  | { readonly do: 'edit'; readonly image: number; readonly field: Edit; readonly value: number }
  /** `orphan`: kubectl delete --cascade=orphan. */
  | {
      readonly do: 'delete' | 'orphan' | 'recreate' | 'retryNow' | 'refresh' | 'spoil' | 'heal'
      readonly image: number
    }
  | { readonly do: 'suspend'; readonly image: number; readonly suspend: boolean }
  | { readonly do: 'deleteChild'; readonly image: number; readonly kind: ChildKind; readonly foreground: boolean }
  /** Somebody clones what the image has, for so long. */
  | { readonly do: 'clone'; readonly image: number; readonly forMs: number }

/** Things that images name come and go. */
export type CatalogAction = {
  readonly do: 'toggle'
  readonly what: 'Secret' | 'StorageClass' | 'VolumeSnapshotClass'
  readonly number: number
}

export type PolicyAction =
  | { readonly do: 'setLimit'; readonly limit: number }
  | { readonly do: 'setRetryLimit'; readonly retryLimit: number }
  /** The value may be one that nobody can use. */
  | { readonly do: 'setPolicy'; readonly key: string; readonly value: string }
  | { readonly do: 'deletePolicy'; readonly forMs: number }

/** `flood`: somebody writes so many holders into it that nobody ever admitted. */
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

/** Imports of one image, or of all, go wrong. */
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

/** A namespace is deleted, or the kinds of a system are removed with all their objects; after so long they come back. */
export type SurroundingsAction =
  | { readonly do: 'deleteNamespace'; readonly namespace: number; readonly forMs: number }
  | { readonly do: 'uninstall'; readonly what: System; readonly forMs: number }
  /** A ResourceQuota leaves room for so many more claims, for a while. */
  | { readonly do: 'limitClaims'; readonly namespace: number; readonly more: number; readonly forMs: number }
  | OutageAction

export type OutageAction =
  /** cdi-controller alone: importers go on, and are restarted by their kubelets. */
  | { readonly do: 'stopCdi'; readonly forMs: number }
  /** A node is drained: all importer pods of an image are deleted, and CDI makes new ones. */
  | { readonly do: 'drain'; readonly image: number }

/** To one replica of the operator. */
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

/** Between the operator and the API server, for a while. */
export type NetworkAction =
  | {
      readonly do: 'requestFaults'
      readonly fault: RequestFault
      readonly percent: number
      readonly forMs: number
      /** Only requests about this kind. */
      readonly kind: string | undefined
    }
  | {
      readonly do: 'watchFaults'
      readonly fault: WatchFault
      readonly percent: number
      readonly forMs: number
      readonly kind: string | undefined
    }
  /** All watches are opened again, and so many of them, from now on, at a second API server that is behind. */
  | ({ readonly do: 'laggingServer'; readonly percent: number; readonly forMs: number } & ServerView)
  | { readonly do: 'compact' | 'breakWatches' }

/** Whether the action harms the operator or its link to the API server: the rest is what it has to do in any case. */
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

/** The same without what harms the operator: what its end state is compared with. Times stay. */
export function withoutDisturbances(schedule: Schedule): Schedule {
  return { ...schedule, steps: only(schedule.steps, (action) => !isDisturbance(action)) }
}

/**
 * The same without what people and CDI do: images are created, and each download comes to what its source is. What the operator
 * writes for an image follows from that alone then, whatever harms it meanwhile, and can be counted. For that nothing may
 * depend on how long something took: a failure that CDI restarts while nobody looks saves a DataVolume.
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
      // Long enough for a status to say so.
      downloadSeconds: Math.max(1, image.downloadSeconds),
    })),
    steps: only(steps, isDisturbance),
  }
}

/** The steps that are wanted, at the times that they had among the others. */
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
