import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type {
  DataSyncStatus,
  VirtualMachineStatus,
  VMDiskImageStatus,
  WorkspaceSnapshotStatus,
  WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import { controllerOf } from '../../operator/kube/controller-of.ts'
import type { KubeObject, ObjectMeta } from '../../operator/kube/kube-object.ts'

/** What the observer keeps of each object: what is shown, and what is checked. */

export interface ImageFact {
  readonly kind: 'image'
  readonly metadata: ObjectMeta
  readonly status: VMDiskImageStatus
  /** Reason of its condition `Reconciling`. */
  readonly reason: string
  /** Whether it has an artifact that can be cloned. */
  readonly isReady: boolean
  /** What its deletion waits for; undefined if it waits for nothing. */
  readonly blocked: string | undefined
}

/** An Open Terrain VirtualMachine. */
export interface MachineFact {
  readonly kind: 'machine'
  readonly metadata: ObjectMeta
  readonly status: VirtualMachineStatus
  /** Reason of its condition `Reconciling`. */
  readonly reason: string
}

/** A point in time of a workspace. */
export interface PointFact {
  readonly kind: 'point'
  readonly metadata: ObjectMeta
  readonly status: WorkspaceSnapshotStatus
}

/** The images of a release. */
export interface DataSyncFact {
  readonly kind: 'dataSync'
  readonly metadata: ObjectMeta
  readonly status: DataSyncStatus
  /** Whether a pipeline that waits for it continues. */
  readonly isSettled: boolean
}

/** A whole lab. */
export interface WorkspaceFact {
  readonly kind: 'workspace'
  readonly metadata: ObjectMeta
  readonly status: WorkspaceStatus
}

/** A DataVolume that is cloned from an image: the root disk of a machine. It downloads nothing. */
export interface DiskFact {
  readonly kind: 'disk'
  readonly metadata: ObjectMeta
  /** UID of our VirtualMachine. */
  readonly machineUid: string
  readonly phase: string
}

/** A VirtualMachine of KubeVirt. */
export interface KubeVirtFact {
  readonly kind: 'kubevirt'
  readonly metadata: ObjectMeta
  /** UID of our VirtualMachine. */
  readonly machineUid: string
  readonly printableStatus: string
}

/** A DataVolume that fills an image. */
export interface DataVolumeFact {
  readonly kind: 'dataVolume'
  readonly metadata: ObjectMeta
  readonly imageUid: string
  readonly revision: string
  readonly attempt: number
  readonly phase: string
  /** 0 to 1; undefined while nothing was downloaded. */
  readonly progress: number | undefined
}

export interface PodFact {
  readonly kind: 'pod'
  readonly metadata: ObjectMeta
  readonly imageUid: string
  /** Whether its containers have ended for good. Such a pod downloads nothing, and may stay for a while. */
  readonly hasEnded: boolean
}

export interface ConfigMapFact {
  readonly kind: 'configMap'
  readonly metadata: ObjectMeta
  readonly data: Readonly<Record<string, string>>
}

export interface SnapshotFact {
  readonly kind: 'snapshot'
  readonly metadata: ObjectMeta
  readonly isReady: boolean
}

export interface DataSourceFact {
  readonly kind: 'dataSource'
  readonly metadata: ObjectMeta
  /** Name of the VolumeSnapshot that it points to. */
  readonly snapshot: string | undefined
}

export type Fact =
  | ImageFact
  | MachineFact
  | DataSyncFact
  | WorkspaceFact
  | PointFact
  | DiskFact
  | KubeVirtFact
  | DataVolumeFact
  | PodFact
  | ConfigMapFact
  | SnapshotFact
  | DataSourceFact

/** One observed state of one object. All entries are ordered by revisions of etcd. */
export interface Entry<F extends Fact = Fact> {
  readonly revision: string
  /** When it was observed, in milliseconds of the monotonic clock. */
  readonly at: number
  readonly isDeleted: boolean
  /** The last state, if the object was deleted. */
  readonly fact: F
}

/** Fields of objects of other systems, which can be missing whatever a schema says. */
// biome-ignore lint/suspicious/noExplicitAny: this is the edge where JSON of others is read, field by field
type Raw = any

export function imageFact(object: KubeObject): ImageFact {
  const status: VMDiskImageStatus = (object as Raw).status ?? {}
  const conditions = status.conditions ?? []
  return {
    kind: 'image',
    metadata: object.metadata,
    status,
    reason: conditions.find(({ type }) => type === 'Reconciling')?.reason ?? '',
    isReady: conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
    blocked: conditions.find(({ type, status: value }) => type === 'DeletionBlocked' && value === 'True')?.message,
  }
}

export function machineFact(object: KubeObject): MachineFact {
  const status: VirtualMachineStatus = (object as Raw).status ?? {}
  const reason = status.conditions?.find(({ type }) => type === 'Reconciling')?.reason ?? ''
  return { kind: 'machine', metadata: object.metadata, status, reason }
}

export function dataSyncFact(object: KubeObject): DataSyncFact {
  const status: DataSyncStatus = (object as Raw).status ?? {}
  const isSettled = (status.conditions ?? []).some(({ type, status: value }) => type === 'Settled' && value === 'True')
  return { kind: 'dataSync', metadata: object.metadata, status, isSettled }
}

export function workspaceFact(object: KubeObject): WorkspaceFact {
  return { kind: 'workspace', metadata: object.metadata, status: (object as Raw).status ?? {} }
}

export function pointFact(object: KubeObject): PointFact {
  return { kind: 'point', metadata: object.metadata, status: (object as Raw).status ?? {} }
}

export function kubevirtFact(object: KubeObject): KubeVirtFact {
  const printableStatus: string = (object as Raw).status?.printableStatus ?? ''
  const machineUid = controllerOf(object)?.uid ?? ''
  return { kind: 'kubevirt', metadata: object.metadata, machineUid, printableStatus }
}

/** Classifies a DataVolume by its source, not by its creator. */
export function dataVolumeFact(object: KubeObject): DataVolumeFact | DiskFact {
  const { metadata } = object
  const { phase = '', progress = '' } = (object as Raw).status ?? {}
  const { source = {} } = (object as Raw).spec ?? {}
  const ownerUid = controllerOf(object)?.uid ?? ''
  if (source.snapshot !== undefined || source.pvc !== undefined)
    return { kind: 'disk', metadata, machineUid: ownerUid, phase }
  const percent = Number.parseFloat(progress)
  return {
    kind: 'dataVolume',
    metadata,
    imageUid: ownerUid,
    revision: metadata.labels?.[LABELS.revision] ?? '',
    attempt: Number(metadata.annotations?.[ANNOTATIONS.attempt] ?? 1),
    phase,
    progress: Number.isNaN(percent) ? undefined : percent / 100,
  }
}

export function podFact(object: KubeObject): PodFact {
  const { metadata } = object
  const { phase } = (object as Raw).status ?? {}
  const hasEnded = phase === 'Succeeded' || phase === 'Failed'
  return { kind: 'pod', metadata, imageUid: metadata.labels?.[LABELS.imageUid] ?? '', hasEnded }
}

export function configMapFact(object: KubeObject): ConfigMapFact {
  return { kind: 'configMap', metadata: object.metadata, data: (object as Raw).data ?? {} }
}

export function snapshotFact(object: KubeObject): SnapshotFact {
  return { kind: 'snapshot', metadata: object.metadata, isReady: (object as Raw).status?.readyToUse === true }
}

export function dataSourceFact(object: KubeObject): DataSourceFact {
  const snapshot: string | undefined = (object as Raw).spec?.source?.snapshot?.name
  return { kind: 'dataSource', metadata: object.metadata, snapshot }
}

export interface Ledger {
  readonly limit: number
  readonly holders: readonly { readonly uid: string; readonly revision: string; readonly attempt: number }[]
}

export const LEDGER_NAME = 'sync-operator-slots'

/** Returns the slot ledger from its ConfigMap, which anyone can read; undefined for another ConfigMap. */
export function ledgerOf({ metadata, data }: ConfigMapFact): Ledger | undefined {
  if (metadata.name !== LEDGER_NAME) return undefined
  return { limit: Number(data['limit']), holders: JSON.parse(data['holders'] ?? '[]') as Ledger['holders'] }
}

/** Reports whether the DataVolume may be downloading, as far as can be seen from outside. */
export function isUnfinished({ isDeleted, fact }: Entry<DataVolumeFact>): boolean {
  return !isDeleted && fact.phase !== 'Succeeded'
}
