import type { NetworkAction, ProcessAction } from '../schedule.ts'

/**
 * What happens to machines and their images in one simulated run, as plain data: it is printed when a run fails, and replayed from
 * there. Times are virtual milliseconds. Machines, images and steps refer to each other by number, modulo how many there are, so
 * that taking some away leaves the rest meaningful.
 */
export interface MachineSchedule {
  /** Of everything that chance decides inside the run: latencies, and which request or event a fault strikes. */
  readonly seed: number
  readonly replicas: 1 | 2
  readonly policy: MachinePolicyPlan
  /** How long CDI takes for a clone. */
  readonly cloneMs: number
  readonly images: readonly SourcePlan[]
  readonly machines: readonly MachinePlan[]
  readonly steps: readonly MachineStep[]
}

/** Keys of the policy ConfigMap. Times are short: nobody waits for them. */
export interface MachinePolicyPlan {
  readonly kickLimit: number
  readonly provisionTimeoutSeconds: number
  /** `unreferencedTTL` of images that machines had made; undefined: far longer than any run. */
  readonly ttlSeconds: number | undefined
  readonly keepSourceVolume: boolean
}

export interface SourcePlan {
  /** Whether its disks are cloned from a VolumeSnapshot; otherwise from the claim. */
  readonly hasSnapshot: boolean
  /** Volumes of its storage class wait for their first consumer. */
  readonly bindsLate: boolean
  /** A person made it before the first machine came, with another size than the machines' template has. */
  readonly isMadeByPerson: boolean
}

export interface MachinePlan {
  readonly image: number
  readonly createdAtMs: number
  readonly interfaces: number
  /** Its user's password comes from a Secret. */
  readonly hasSecret: boolean
  readonly ignoreOnDeploy: boolean
}

export interface MachineStep {
  /** After the step before. */
  readonly afterMs: number
  readonly action: MachineAction
}

export type MachineAction =
  | PersonAction
  | ImageAction
  | NamesakeAction
  | SecretAction
  | GuestAction
  | CloneAction
  | SurroundingsAction
  | PolicyAction
  | ProcessAction
  | NetworkAction

export const MACHINE_EDITS = ['cpu', 'users', 'hostname', 'interfaces', 'runStrategy'] as const
export type MachineEdit = (typeof MACHINE_EDITS)[number]

export const MACHINE_CHILDREN = ['Secret', 'VirtualMachine', 'VirtualMachineInstance', 'DataVolume', 'Pod'] as const
export type MachineChild = (typeof MACHINE_CHILDREN)[number]

/** By people, to one machine. `halt` is their change of KubeVirt's own object, `virtctl` a start, or a stop where it runs. */
export type PersonAction =
  | { readonly do: 'delete' | 'recreate' | 'halt' | 'virtctl'; readonly machine: number }
  | { readonly do: 'edit'; readonly machine: number; readonly field: MachineEdit; readonly value: number }
  | { readonly do: 'ignoreOnDeploy'; readonly machine: number; readonly ignore: boolean }
  /** Its template has another size. */
  | { readonly do: 'correctTemplate'; readonly machine: number; readonly diskSize: string }
  | {
      readonly do: 'deleteChild'
      readonly machine: number
      readonly kind: MachineChild
      readonly propagationPolicy: 'Background' | 'Foreground'
    }

/** By people, to an image. */
export type ImageAction = { readonly do: 'deleteImage' | 'refreshImage'; readonly image: number }

export const NAMESAKES = ['Secret', 'VirtualMachine', 'DataVolume', 'PersistentVolumeClaim'] as const
export type Namesake = (typeof NAMESAKES)[number]

/** Somebody takes a name that a machine needs, if it is free. */
export type NamesakeAction = { readonly do: 'takeName'; readonly machine: number; readonly kind: Namesake }

/** The Secret that passwords come from is deleted, or made again. */
export type SecretAction = { readonly do: 'toggleSecret' }

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
export type GuestFault = (typeof GUEST_FAULTS)[number]

/** One machine, or all of them, cannot run as they should. */
export type GuestAction = {
  readonly do: 'guestFault'
  readonly machine: number | undefined
  readonly fault: GuestFault
  readonly times: number
  readonly forMs: number
}

/** Clones take so much longer, or do not end. */
export type CloneAction = {
  readonly do: 'cloneFault'
  readonly fault: 'slowClone' | 'cloneStalls'
  readonly forMs: number
}

/** A namespace is deleted, or the kinds of a system are removed with all their objects; after so long they come back, empty. */
export type SurroundingsAction =
  | { readonly do: 'deleteNamespace'; readonly namespace: 'team' | 'farm'; readonly forMs: number }
  | { readonly do: 'uninstall'; readonly what: 'CDI' | 'KubeVirt'; readonly forMs: number }

/** By people, to the policy ConfigMap. The value may be one that nobody can use. */
export type PolicyAction =
  | { readonly do: 'setPolicy'; readonly key: string; readonly value: string }
  | { readonly do: 'deletePolicy'; readonly forMs: number }
