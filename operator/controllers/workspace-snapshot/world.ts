import type {
  ParsedWorkspaceSnapshotSpec,
  VolumeClaims,
  WorkspaceSnapshotMember,
  WorkspaceSnapshotStatus,
} from '@open-terrain/constructs/operator'
import type { OwnView } from '../../cluster/own-view.ts'
import type { KubeObject } from '../../kube/kube-object.ts'

/** A WorkspaceSnapshot as its cache keeps it. */
export interface WorkspaceSnapshotView extends OwnView {
  readonly status: WorkspaceSnapshotStatus
}

/** A machine or volume that a workspace has now. */
export interface MemberOfLab extends Pick<WorkspaceSnapshotMember, 'kind' | 'name'> {
  /** Name of the claim that a volume has now, if it was restored. */
  readonly claim?: string
  /** Whether there is anything to take: the machine exists in KubeVirt, or the claim is bound. */
  readonly hasDisk: boolean
}

/** The object that has the name of a member's snapshot. */
export interface FoundSnapshot {
  readonly isOurs: boolean
  readonly isTerminating: boolean
  readonly isReady: boolean
  /** Whether it is not tried any more. */
  readonly hasFailed: boolean
  /** What is said about it; empty if nothing is. */
  readonly text: string
  /** In the words of KubeVirt. Undefined for volumes, and while nothing is known. */
  readonly consistency?: string | undefined
  /** Names of the disks of the machine that are not in it, separated by commas. Undefined: none is known. */
  readonly excluded?: string | undefined
  /** When it was taken, in RFC 3339. */
  readonly time?: string | undefined
  /** When it was created, in ms. */
  readonly createdMs: number | undefined
  /** Uid of KubeVirt's machine that it is of; undefined for volumes, and while nothing is known. */
  readonly sourceUid?: string | undefined
  /** Uid of the workspace that it was taken for. */
  readonly workspaceUid?: string | undefined
  /** What a claim that is made from it has to ask for at least, as a quantity. Undefined for machines, and while nothing is known. */
  readonly restoreSize?: string | undefined
}

/** A machine that a workspace has now, as a restore needs to know it. */
export interface RestoreTarget {
  /** Whether its root disk is being replaced, or is to be when nothing holds that up any more. */
  readonly isReplaced: boolean
  /** Whether somebody asks for a reset that its operator has not answered: it would replace whatever disk there is then. */
  readonly isResetAsked: boolean
  /** KubeVirt's machine; undefined if there is none, or it is going. */
  readonly kubevirt:
    | {
        readonly object: KubeObject
        readonly isOff: boolean
        /** Name of the VirtualMachineRestore that is at work on it; empty if none is. */
        readonly restoreInProgress: string
        /** The last restore that wrote its spec, as `<name>-<uid>`; empty if none did. */
        readonly lastRestore: string
        /** Name of the claim of its root disk; empty if that is of a DataVolume. */
        readonly rootClaim: string
        /** Names of the volumes of the workspace that are disks of it: KubeVirt restores them with it. */
        readonly volumes: readonly string[]
        /** Names of the claims in its spec that are not bound, or were not seen. Those of DataVolumes are not among them. */
        readonly unbound: readonly string[]
        /** Whether one of its disks is on storage that fills a claim only when something uses it. */
        readonly waitsForPod: boolean
      }
    | undefined
}

/** A volume that a workspace has now, as a restore needs to know it. */
export interface RestoreVolume {
  /** Name of its present claim. */
  readonly claim: string
  /** Of its present claim; undefined if that is gone. */
  readonly storageClass: string | undefined
  /** What the spec and the present claim ask for, as quantities, as far as they are known. */
  readonly sizes: readonly string[]
  /** Names of its other claims, such as the one from before another restore. */
  readonly others: readonly string[]
}

/** The object that has the name of a claim that a volume is restored to. */
export interface FoundClaim {
  readonly object: KubeObject
  /** Whether it belongs to this WorkspaceSnapshot. */
  readonly isOurs: boolean
  /** Whether it belongs to the workspace. */
  readonly isAdopted: boolean
  readonly isTerminating: boolean
  readonly phase: string
  /** Whether it gets its data only when a pod uses it. */
  readonly waitsForPod: boolean
}

/** The Workspace, as a restore needs to know it. */
export interface RestoreLab {
  readonly object: KubeObject
  /** The claims that restores have given to its volumes. */
  readonly claims: VolumeClaims
  /** Whether somebody asks for a reset of all machines that these have not been given. */
  readonly isResetAsked: boolean
  /** Names of pods of its container clusters that have not ended. */
  readonly pods: readonly string[]
}

/** The object that has the name of a VirtualMachineRestore of ours. */
export interface FoundRestore {
  readonly object: KubeObject
  readonly isOurs: boolean
  readonly isTerminating: boolean
  readonly isComplete: boolean
  /** Whether it is not tried any more. */
  readonly hasFailed: boolean
  /** What KubeVirt says about it; empty if nothing. */
  readonly text: string
  /** Name of the claim of the restored root disk; empty until it is known. */
  readonly claim: string
}

/** What a restore is decided from. */
export interface RestoreWorld {
  /** Whether the cluster serves VirtualMachineRestores. */
  readonly isServed: boolean
  /** Whether the workspace is switched off, or has ended. Its machines may still stop. */
  readonly isLabOff: boolean
  /** The machines of the workspace, by name. */
  readonly targets: Readonly<Record<string, RestoreTarget>>
  /** By name: those in `status.restore.members` that exist. */
  readonly found: Readonly<Record<string, FoundRestore>>
  /** Undefined if there is none. */
  readonly lab: RestoreLab | undefined
  /** The volumes of the workspace, by name. */
  readonly volumes: Readonly<Record<string, RestoreVolume>>
  /** By name: those in `status.restore.volumes` and `status.restore.unfilled` that exist. */
  readonly claims: Readonly<Record<string, FoundClaim>>
  /** Time of the API server, in milliseconds since the epoch; undefined: not known. */
  readonly serverNow: number | undefined
  /** Another WorkspaceSnapshot of the workspace that is being restored. */
  readonly other: string | undefined
  /** Another WorkspaceSnapshot of the workspace that is being restored too, and was begun before this one. */
  readonly earlier: string | undefined
}

/** Everything that is known about one WorkspaceSnapshot at one moment. A plan is a function of this, and of the time. */
export interface WorkspaceSnapshotWorld {
  readonly snapshot: WorkspaceSnapshotView
  readonly spec: ParsedWorkspaceSnapshotSpec
  readonly namespaceTerminating: boolean
  /** The Workspace of the namespace; undefined if there is none, or it is being deleted. */
  readonly workspace: { readonly name: string; readonly uid: string } | undefined
  /** What the workspace has now: the machines, then the volumes, by name. */
  readonly lab: readonly MemberOfLab[]
  /** By name of the snapshots in `status.members`: those that exist. */
  readonly found: Readonly<Record<string, FoundSnapshot>>
  /** Kinds of members whose snapshots the cluster does not serve. */
  readonly notServed: readonly MemberOfLab['kind'][]
  /** Other snapshots of the workspace that are taken, or come first. */
  readonly ahead: number
  /** How many the policy allows. */
  readonly limit: number
  readonly restore: RestoreWorld
  /** What the API server answered when it last refused a snapshot or a restore. */
  readonly refusal: string | undefined
}
