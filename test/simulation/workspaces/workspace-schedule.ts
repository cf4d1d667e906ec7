import type { ClusterWord, LabWord, NetworkWord, VmWord, Words } from './lab-words.ts'

/** A workspace of a schedule. Images, networks and volumes are given by number, so that many workspaces want the same ones. */
export interface WorkspacePlan {
  readonly createdAtMs: number
  readonly vms: readonly VmOfPlan[]
  readonly clusters: readonly ClusterOfPlan[]
  /** Numbers of its networks and volumes, besides those that vms and clusters need. */
  readonly networks: readonly number[]
  readonly volumes: readonly number[]
  /** Undefined: its machines have no roles but those that nobody plays. */
  readonly plays?: PlaysOfPlan
  /** What else its spec says. */
  readonly words?: Words
}

/** How the roles of its machines are played. */
export interface PlaysOfPlan {
  /** Whether its spec names an image. */
  readonly hasImage: boolean
  /** Whether it logs in with a key, whose Secret people create. */
  readonly hasKey: boolean
  /** When there are roles. */
  readonly when: readonly ('build' | 'deploy')[]
  readonly timeout: string | undefined
}

export interface VmOfPlan {
  /** Number of its name. */
  readonly vm: number
  /** Number of its image: see `IMAGES`, or one that machines name too. */
  readonly image: number
  /** Undefined: it is on the pod network. */
  readonly network: number | undefined
  readonly isIgnored: boolean
}

export interface ClusterOfPlan {
  /** Number of its name. */
  readonly cluster: number
  readonly network: number | undefined
  /** Undefined: it mounts only the plays. */
  readonly volume: number | undefined
  /** Asks for more than some policies allow: a port of the node, or a capability. */
  readonly asks: 'nothing' | 'hostPort' | 'capability'
  readonly isIgnored: boolean
}

/** Kinds of parts of a workspace that people and others delete, change or occupy. Names are those of its parts, by number. */
export const PARTS = [
  'Namespace',
  'NetworkPolicy',
  'NetworkAttachmentDefinition',
  'PersistentVolumeClaim',
  'ConfigMap',
  'Deployment',
  'VirtualMachine',
  'Secret',
] as const
export type Part = (typeof PARTS)[number]

export const POD_FAULTS = [
  'unschedulable',
  'imagePull',
  'notCreated',
  'noMultus',
  'crashLoop',
  'slowEnd',
  'notReady',
] as const
export type PodFault = (typeof POD_FAULTS)[number]

/** What people do to one workspace. */
export type WorkspaceAction = {
  readonly workspace: number
} /** `switchLab`: switched off if it is on, and on otherwise. */ & (
  | { readonly do: 'deleteWorkspace' | 'recreateWorkspace' | 'spoilWorkspace' | 'switchLab' }
  /** Gives it another end, so many milliseconds from then, or none. */
  | { readonly do: 'endLab'; readonly afterMs: number | undefined; readonly onExpiry: 'Halt' | 'Delete' | undefined }
  /** Removes the one of that name if the workspace has it, and adds it otherwise. */
  | { readonly do: 'toggleVm'; readonly vm: VmOfPlan }
  | { readonly do: 'toggleCluster'; readonly cluster: ClusterOfPlan }
  | {
      readonly do: 'toggleNetwork' | 'toggleVolume' | 'ignoreVm' | 'ignoreCluster' | 'renewCluster'
      readonly number: number
    }
  | {
      readonly do: 'deletePart' | 'spoilPart' | 'unlabelPart' | 'takePartName'
      readonly kind: Part
      readonly number: number
    }
  /** Says the word of the one of that number, or says it no longer. */
  | { readonly do: 'toggleWord'; readonly number: number; readonly word: WordOf }
  /** The image of one of its machines is deleted. */
  | { readonly do: 'deleteWorkspaceImage'; readonly vm: number }
  /** For a while, no more pods and claims may be created in its namespace. */
  | { readonly do: 'crampWorkspace'; readonly forMs: number }
  /** For a while, it has room for the claims that are there, and for no others. */
  | { readonly do: 'fillWorkspace'; readonly forMs: number }
  /** Somebody gives up the disks of its machines that have no room for a second one, as they tell. */
  | { readonly do: 'giveUpDisks' }
  /** The owner of the Secret that it has a copy of changes it, or stops sharing it or deletes it for a while. */
  | { readonly do: 'rotateLogin' }
  | { readonly do: 'withdrawLogin' | 'deleteLogin'; readonly forMs: number }
  /** Somebody writes into the copy. */
  | { readonly do: 'spoilCopy' }
  /** Pods of its container clusters, or its machines, cannot run as they should. */
  | { readonly do: 'podFault'; readonly fault: PodFault; readonly forMs: number }
  | { readonly do: 'labGuestFault'; readonly fault: LabGuestFault; readonly forMs: number }
  /** Pods that play roles end in another way than well, or not at all. */
  | { readonly do: 'playFault'; readonly fault: PlayFault; readonly forMs: number }
  /** Somebody asks that plays are played again, or that all machines have new disks. Or the image is named, or no longer. */
  | { readonly do: 'askForPlays' | 'rebuildLab' | 'togglePlayImage' }
  /** Somebody asks that all machines, or one alone, begin anew. */
  | { readonly do: 'resetLab' }
  | { readonly do: 'resetVm' | 'rebuildVm'; readonly number: number }
  /** One of its machines gets another image. */
  | { readonly do: 'changeVmImage'; readonly number: number; readonly image: number }
  /** The machine is started again, with its disk. */
  | { readonly do: 'restartVm'; readonly number: number }
  /** KubeVirt restores the disks of a machine from a snapshot as soon as its guest is off, to new claims or in place. */
  | { readonly do: 'restoreVm'; readonly number: number; readonly isInPlace: boolean }
  | { readonly do: 'harmPlay'; readonly what: PlayHarm; readonly number: number }
)

export type WordOf =
  | { readonly of: 'vms'; readonly say: VmWord }
  | { readonly of: 'clusters'; readonly say: ClusterWord }
  | { readonly of: 'networks'; readonly say: NetworkWord }
  | { readonly of: 'lab'; readonly say: LabWord }

/** `deleteJobAlone`: its pod stays, as it does if nobody says otherwise. */
export const PLAY_HARMS = ['deleteJob', 'deleteJobAlone', 'suspendJob', 'deletePod'] as const
export type PlayHarm = (typeof PLAY_HARMS)[number]

/** `tells`: what it says at its end has a secret in it. */
export const PLAY_FAULTS = ['fails', 'tells', 'tellsAsLog', 'neverEnds', 'imagePull', 'unschedulable'] as const
export type PlayFault = (typeof PLAY_FAULTS)[number]

export const LAB_GUEST_FAULTS = ['neverReady', 'slowStart', 'unschedulable', 'podRefused', 'guestCrash'] as const
/** The last two: the guest does not answer what asks whether it is ready. */
export type LabGuestFault = (typeof LAB_GUEST_FAULTS)[number] | 'noAgent' | 'noAnswer'
