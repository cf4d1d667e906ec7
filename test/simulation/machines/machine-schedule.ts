/** An image that machines name. */
export interface SourcePlan {
  /** Whether its disks are cloned from a VolumeSnapshot; otherwise from the claim. */
  readonly hasSnapshot: boolean
  /** Volumes of its storage class wait for their first consumer. */
  readonly bindsLate: boolean
  /** A person created it before the first machine, with another size than in the template of the machines. */
  readonly isMadeByPerson: boolean
  /** It is the image that a DataSync of the schedule creates for one of its vms, and that DataSync decides the rest. */
  readonly release?: {
    readonly dataSync: number
    readonly vm: number
    /** Machines may create it, too: then the name is theirs. */
    readonly hasTemplate: boolean
  }
}

/** A virtual machine of a schedule. Sources are given by number, modulo how many there are. */
export interface MachinePlan {
  readonly source: number
  readonly createdAtMs: number
  readonly interfaces: number
  /** Its user's password comes from a Secret. */
  readonly hasSecret: boolean
  readonly ignoreOnDeploy: boolean
}

export type MachineAction = PersonAction | SourceAction | NamesakeAction | LoginAction | GuestAction | CloneAction

export const MACHINE_EDITS = ['cpu', 'users', 'hostname', 'interfaces', 'runStrategy'] as const
export type MachineEdit = (typeof MACHINE_EDITS)[number]

export const MACHINE_CHILDREN = ['Secret', 'VirtualMachine', 'VirtualMachineInstance', 'DataVolume', 'Pod'] as const
export type MachineChild = (typeof MACHINE_CHILDREN)[number]

/** What people do to one machine. `halt` changes KubeVirt's own object. `virtctl` starts the machine, or stops it if it runs. */
export type PersonAction = { readonly machine: number } & (
  | { readonly do: 'deleteMachine' | 'recreateMachine' | 'halt' | 'virtctl' }
  | { readonly do: 'editMachine'; readonly field: MachineEdit; readonly value: number }
  | { readonly do: 'ignoreOnDeploy'; readonly ignore: boolean }
  /** KubeVirt restores it from a snapshot as soon as its guest is off. */
  | { readonly do: 'restore'; readonly isInPlace: boolean }
  /** Its template gets another size. */
  | { readonly do: 'correctTemplate'; readonly diskSize: string }
  | {
      readonly do: 'deleteMachineChild'
      readonly kind: MachineChild
      readonly propagationPolicy: 'Background' | 'Foreground'
    }
)

/** What people do to an image that machines name. */
export type SourceAction = { readonly do: 'deleteSource' | 'refreshSource'; readonly source: number }

export const NAMESAKES = ['Secret', 'VirtualMachine', 'DataVolume', 'PersistentVolumeClaim'] as const
export type Namesake = (typeof NAMESAKES)[number]

/** Somebody takes a name that a machine needs, if it is free. */
export type NamesakeAction = { readonly do: 'takeName'; readonly machine: number; readonly kind: Namesake }

/** The Secret that passwords come from is deleted, or created again. */
export type LoginAction = { readonly do: 'toggleLogin' }

export const GUEST_FAULTS = [
  'neverReady',
  'podUnready',
  'PausedByUser',
  'PausedIOError',
  'PausedByMigrationMonitor',
  'nodeLost',
  'slowStart',
  'unschedulable',
  'podRefused',
  'instanceRefused',
  'launcherFails',
  'guestShutdown',
  'guestCrash',
] as const
/** Without an agent, only the pod of a guest shows that it is well. */
export type GuestFault = (typeof GUEST_FAULTS)[number] | 'noAgent' | 'noAnswer'

/** One machine, or all of them, cannot run as they should. */
export type GuestAction = {
  readonly do: 'guestFault'
  readonly machine: number | undefined
  readonly fault: GuestFault
  readonly times: number
  readonly forMs: number
}

/** Clones that begin within this time take 30 s longer, or do not end. */
export type CloneAction = {
  readonly do: 'cloneFault'
  readonly fault: 'slowClone' | 'cloneStalls'
  readonly forMs: number
}
