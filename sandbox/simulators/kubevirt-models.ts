import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { Affinity, Condition } from './models.ts'

/** The parts of KubeVirt's objects that its simulator reads and writes. */

type Quantities = Readonly<Record<string, string | number>>

export interface Domain {
  readonly cpu?: {
    readonly sockets?: number
    readonly cores?: number
    readonly threads?: number
    readonly maxSockets?: number
    readonly model?: string
  }
  readonly memory?: { readonly guest?: string; readonly maxGuest?: string }
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities }
  readonly machine?: { readonly type?: string }
  readonly firmware?: { readonly uuid?: string; readonly serial?: string }
  readonly devices?: {
    readonly interfaces?: readonly GuestInterface[]
    readonly disks?: readonly { readonly name: string; readonly [field: string]: unknown }[]
    readonly [field: string]: unknown
  }
}

export interface GuestInterface {
  readonly name: string
  readonly macAddress?: string
  readonly model?: string
}

export interface Network {
  readonly name: string
  readonly pod?: object
  readonly multus?: { readonly networkName: string }
}

export interface MachineVolume {
  readonly name: string
  readonly dataVolume?: { readonly name: string; readonly hotpluggable?: boolean }
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly hotpluggable?: boolean }
  readonly memoryDump?: { readonly claimName: string; readonly hotpluggable?: boolean }
  readonly cloudInitNoCloud?: CloudInitVolume
  readonly cloudInitConfigDrive?: CloudInitVolume
  readonly sysprep?: { readonly secret?: { readonly name: string } }
}

interface CloudInitVolume {
  readonly secretRef?: { readonly name: string }
  readonly networkDataSecretRef?: { readonly name: string }
}

/** The `spec.template.spec` of a virtual machine and the `spec` of an instance. */
export interface InstanceSpec {
  readonly architecture?: string
  readonly hostname?: string
  readonly terminationGracePeriodSeconds?: number
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly affinity?: Affinity
  readonly tolerations?: readonly object[]
  readonly readinessProbe?: { readonly guestAgentPing?: object; readonly exec?: object; readonly tcpSocket?: object }
  readonly domain: Domain
  readonly networks?: readonly Network[]
  readonly volumes?: readonly MachineVolume[]
}

export interface StartFailure {
  readonly consecutiveFailCount: number
  readonly lastFailedVMIUID?: string
  readonly retryAfterTimestamp?: string
}

/** Reason and message of the condition `Failure` of a virtual machine. */
export interface MachineFailure {
  readonly reason: string
  readonly message: string
}

/** What a user requested with virtctl. */
export interface StateChangeRequest {
  readonly action: 'Start' | 'Stop'
  /** UID of the instance to stop. */
  readonly uid?: string
}

export interface MachineStatus {
  readonly created?: boolean
  readonly ready?: boolean
  readonly printableStatus?: string
  readonly runStrategy?: string
  readonly observedGeneration?: number
  readonly desiredGeneration?: number
  readonly startFailure?: StartFailure
  readonly stateChangeRequests?: readonly StateChangeRequest[]
  /** Name of the VirtualMachineRestore that is at work. */
  readonly restoreInProgress?: string
  /** Name of the VirtualMachineSnapshot that is being taken. */
  readonly snapshotInProgress?: string
  readonly conditions?: readonly Condition[]
}

/** KubeVirt's VirtualMachine. */
export interface Machine extends KubeObject {
  readonly spec: {
    readonly runStrategy?: string
    readonly instancetype?: { readonly name?: string }
    readonly template: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>
        readonly annotations?: Readonly<Record<string, string>>
      }
      readonly spec: InstanceSpec
    }
  }
  readonly status?: MachineStatus
}

export interface InterfaceStatus {
  readonly name: string
  readonly mac: string
  readonly ipAddress?: string
  readonly ipAddresses?: readonly string[]
  readonly interfaceName?: string
  readonly infoSource?: string
  readonly queueCount?: number
}

export type InstancePhase = 'Pending' | 'Scheduling' | 'Scheduled' | 'Running' | 'Succeeded' | 'Failed'

export interface InstanceStatus {
  readonly phase?: InstancePhase
  readonly phaseTransitionTimestamps?: readonly {
    readonly phase: InstancePhase
    readonly phaseTransitionTimestamp: string
  }[]
  readonly nodeName?: string
  readonly currentCPUTopology?: { readonly cores?: number; readonly sockets?: number; readonly threads?: number }
  readonly memory?: { readonly guestCurrent?: string }
  readonly migrationState?: {
    readonly completed: boolean
    /** Names of the launcher pods that the guest leaves and enters. */
    readonly sourcePod?: string
    readonly targetPod?: string
  }
  readonly interfaces?: readonly InterfaceStatus[]
  readonly conditions?: readonly Condition[]
}

/** KubeVirt's VirtualMachineInstance. */
export interface Instance extends KubeObject {
  readonly spec: InstanceSpec
  readonly status?: InstanceStatus
}

/** Returns the names of the claims that a machine needs, in order. The claim of a DataVolume has the same name. */
export function claimNamesOf(spec: InstanceSpec): string[] {
  return (spec.volumes ?? []).flatMap(({ dataVolume, persistentVolumeClaim }) => {
    const name = dataVolume?.name ?? persistentVolumeClaim?.claimName
    return name === undefined ? [] : [name]
  })
}

/** Returns the names of the Secrets that the guest reads at its first boot. */
export function secretNamesOf(spec: InstanceSpec): string[] {
  const refs = (spec.volumes ?? []).flatMap(({ cloudInitNoCloud, cloudInitConfigDrive, sysprep }) => {
    const source = cloudInitNoCloud ?? cloudInitConfigDrive
    return [source?.secretRef?.name, source?.networkDataSecretRef?.name, sysprep?.secret?.name]
  })
  return [...new Set(refs.filter((name) => name !== undefined))]
}

export function isFinal({ status }: Instance): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

/** Reports whether the guest has ever run. */
export function hasRun({ status }: Instance): boolean {
  return status?.phaseTransitionTimestamps?.some(({ phase }) => phase === 'Running') ?? false
}

/** KubeVirt's VirtualMachineSnapshot. */
export interface MachineSnapshot extends KubeObject {
  readonly spec: { readonly source: { readonly name: string }; readonly failureDeadline?: string }
  readonly status?: MachineSnapshotStatus
}

export interface MachineSnapshotStatus {
  readonly phase?: 'InProgress' | 'Succeeded' | 'Failed'
  readonly readyToUse?: boolean
  readonly creationTime?: string
  readonly indications?: readonly string[]
  readonly conditions?: readonly Condition[]
  readonly sourceUID?: string
  readonly snapshotVolumes?: {
    readonly includedVolumes: readonly string[]
    readonly excludedVolumes: readonly string[]
  }
}

/** KubeVirt's VirtualMachineRestore. */
export interface MachineRestore extends KubeObject {
  readonly spec: {
    readonly target: { readonly name: string }
    readonly virtualMachineSnapshotName: string
    readonly targetReadinessPolicy?: string
  }
  readonly status?: MachineRestoreStatus
}

export interface MachineRestoreStatus {
  readonly complete?: boolean
  readonly restores?: readonly { readonly volumeName: string; readonly persistentVolumeClaim: string }[]
  readonly conditions?: readonly Condition[]
}
