import type {
  DataSyncSpecInput,
  VirtualMachineSpecInput,
  VMDiskImageSpecInput,
  WorkspaceSnapshotSpecInput,
  WorkspaceSpecInput,
} from '@open-terrain/constructs'
import {
  type DataSyncStatus,
  dataSync,
  type VirtualMachineStatus,
  type VMDiskImageStatus,
  virtualMachine,
  vmDiskImage,
  type WorkspaceSnapshotStatus,
  type WorkspaceStatus,
  workspace,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'

export const IMAGE: ResourceType = vmDiskImage

export interface Image extends KubeObject {
  readonly spec: Partial<VMDiskImageSpecInput>
  readonly status?: VMDiskImageStatus
}

export const MACHINE: ResourceType = virtualMachine

export interface Machine extends KubeObject {
  readonly spec: VirtualMachineSpecInput
  readonly status?: VirtualMachineStatus
}

export const DATA_SYNC: ResourceType = dataSync

export interface DataSync extends KubeObject {
  readonly spec: DataSyncSpecInput
  readonly status?: DataSyncStatus
}

export const WORKSPACE: ResourceType = workspace

export interface Workspace extends KubeObject {
  /** As it is stored. */
  readonly spec: WorkspaceSpecInput & { readonly expiresAt?: string; readonly lifetime?: string }
  readonly status?: WorkspaceStatus
}

export const WORKSPACE_SNAPSHOT: ResourceType = workspaceSnapshot

export interface WorkspaceSnapshot extends KubeObject {
  readonly spec: WorkspaceSnapshotSpecInput
  readonly status?: WorkspaceSnapshotStatus
}

/** KubeVirt's VirtualMachine. */
export interface KubeVirtMachine extends KubeObject {
  readonly spec: object
  readonly status?: { readonly printableStatus?: string; readonly restoreInProgress?: string }
}

/** KubeVirt's VirtualMachineInstance. */
export interface Instance extends KubeObject {
  readonly status?: { readonly phase?: string }
}

export interface Secret extends KubeObject {
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>
}

export interface ConditionOf {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

export interface DataVolume extends KubeObject {
  readonly spec: { readonly source?: Readonly<Record<string, unknown>> }
  readonly status?: {
    readonly phase?: string
    readonly progress?: string
    readonly conditions?: readonly ConditionOf[]
  }
}

export interface Claim extends KubeObject {
  readonly spec: { readonly volumeName?: string }
  readonly status?: { readonly phase?: string }
}

export interface Snapshot extends KubeObject {
  readonly spec: { readonly volumeSnapshotClassName?: string }
  readonly status?: { readonly readyToUse?: boolean }
}

export interface DataSource extends KubeObject {
  readonly spec: { readonly source: Readonly<Record<string, { readonly name: string; readonly namespace?: string }>> }
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

export interface KubeEvent extends KubeObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly note?: string
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly uid?: string }
  readonly regarding?: { readonly kind?: string; readonly name?: string; readonly uid?: string }
}

export interface Lease extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string; readonly leaseTransitions?: number }
}

/** Reports whether the current spec is downloaded and can be cloned. */
export function isSynced(image: Image): boolean {
  return (
    image.status?.phase === 'Succeeded' &&
    conditionOf(image, 'UpToDate')?.status === 'True' &&
    image.status.observedGeneration === image.metadata.generation
  )
}

type Ours = Image | Machine | DataSync | Workspace | WorkspaceSnapshot

export function conditionOf(object: Ours | undefined, type: string): ConditionOf | undefined {
  const conditions: readonly ConditionOf[] | undefined = object?.status?.conditions
  return conditions?.find((condition) => condition.type === type)
}

/** The reason of the Reconciling condition. */
export function reasonOf(object: Ours | undefined): string | undefined {
  return conditionOf(object, 'Reconciling')?.reason
}

/** Reports whether the importer of a DataVolume cannot download any more, as the operator decides it. */
export function isFinished({ status }: DataVolume): boolean {
  return status?.phase === 'Succeeded'
}

/** Returns the object if its status reflects the current generation, and `holds` returns true for it. */
export function currentIf<T extends KubeObject & { readonly status?: { readonly observedGeneration?: number } }>(
  found: T | undefined,
  holds: (object: T) => boolean,
): T | undefined {
  const isCurrent = found?.status?.observedGeneration === found?.metadata.generation
  return found !== undefined && isCurrent && holds(found) ? found : undefined
}

/** Name of the snapshot that a disk is cloned from. */
export function snapshotOf(disk: DataVolume | undefined): string {
  return String((disk?.spec.source?.['snapshot'] as { readonly name?: string } | undefined)?.name)
}
