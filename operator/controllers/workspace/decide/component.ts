import type {
  ClaimsOfVolumes,
  MachineRequests,
  NetworksOfBefore,
  Policy,
  WORKSPACE_CONDITION_RULES,
  WorkspacePhase,
  WorkspaceReason,
  WorkspaceSpec,
  WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { SecretSource } from './secret-sources.ts'

/** Everything that components are rendered from, so they are the same as long as this is the same. */
export interface Blueprint {
  readonly workspace: { readonly name: string; readonly uid: string }
  readonly spec: WorkspaceSpec
  readonly policy: Policy
  /** @default none */
  readonly networksOfBefore?: NetworksOfBefore | undefined
  /**
   * Ranges of Services, pods and nodes that the cluster shows, in CIDR notation, or `unknown` while they could not be read. Only for a workspace that has
   * access to the internet.
   * @default none
   */
  readonly clusterRanges?: readonly string[] | 'unknown'
  /** Whether a Deployment or a pod of the workspace that exists has a privileged container. @default false */
  readonly runsPrivileged?: boolean
  /** By name of a Secret that is a copy. @default none */
  readonly secretSources?: ReadonlyMap<string, SecretSource>
  /** Names of Secrets that are there and were made of something else: they go first. @default none */
  readonly secretsToReplace?: ReadonlySet<string>
  /** What machines are asked for, by name. @default nothing */
  readonly requests?: ReadonlyMap<string, MachineRequests>
  /** Claims of volumes that were restored. @default none */
  readonly volumeClaims?: ClaimsOfVolumes
  /** What those that are there ask for, as quantities, by the name of the claim that the volume has if it was never restored. @default nothing */
  readonly restoredSizes?: ReadonlyMap<string, string>
}

/** What a rollout does next. */
export interface Rollout {
  /** By name of a machine that is asked for a new disk now: its mark, which is in the value of its annotation. */
  readonly asked: ReadonlyMap<string, string>
  /** What a machine that is still to be asked waits for, in words for people. */
  readonly waitsFor?: string
}

/** The state of one component. */
export interface ComponentSummary {
  readonly phase: WorkspacePhase
  /** The reason of the workspace, if this component determines it. */
  readonly why: WorkspaceReason
  /** The same reason in the words of the object that the component consists of. Default: `why`. */
  readonly reason?: string
  readonly message: string
}

/** One entry of the status, which people count as one thing, with the objects that it consists of. */
export interface Component {
  readonly kind: string
  /** Unique among the components of the kind. */
  readonly name: string
  /** The desired objects, in the order of their creation. */
  readonly objects: readonly KubeObject[]
  /** {@link idOf} of the components that must exist before it is created. */
  readonly needs: readonly string[]
  /** Set if its objects must not be created, changed or removed in any case. Holds its summary while none of them exists, and once any does. */
  readonly held?: { readonly absent: ComponentSummary; readonly present: ComponentSummary }
  /** What of its part of the spec is not applied as written, or may not work. Default: nothing. */
  readonly warnings?: readonly ComponentWarning[]
  /** What people should know about it once it is Ready. */
  readonly remarks?: readonly ComponentRemark[]
}

/** A sentence about a part of the spec, without its end. Never contains a secret value. */
export interface ComponentWarning {
  readonly message: string
  /** How many warnings the message has. Default: 1. */
  readonly count?: number
  /** Whether its child repeats it in its own status, once it has one. */
  readonly isOfChild?: true
}

/** Returns the field of a component, which one without warnings does not have. */
export function withWarnings(
  messages: readonly string[],
  ofChild: readonly string[] = [],
): Pick<Component, 'warnings'> {
  if (messages.length === 0 && ofChild.length === 0) return {}
  const own = messages.map((message): ComponentWarning => ({ message }))
  return { warnings: [...ofChild.map((message): ComponentWarning => ({ message, isOfChild: true })), ...own] }
}

/** How a component was rendered by an earlier version of the operator, or before others changed. While its objects exist, they are what is wanted. */
export interface EarlierRendering {
  readonly objects: readonly KubeObject[]
  /** What such objects lack, and how to have them made again. None if nobody needs to know. */
  readonly remarks: readonly ComponentRemark[]
  /** They lack nothing else: what is said of the present ones holds of them, too. */
  readonly lacksOneThing?: true
}

/** A sentence that follows the message of a component. Its reason shows where the component is Ready. */
export interface ComponentRemark {
  readonly why: WorkspaceReason
  readonly message: string
}

/** Identifies an object, or a component, within one workspace. */
export function idOf(kind: string, name: string): string {
  return `${kind} ${name}`
}

export function idOfObject({ kind, metadata }: KubeObject): string {
  return idOf(kind, metadata.name)
}

export const componentReady = (message: string, why: WorkspaceReason = 'Ready'): ComponentSummary => {
  return { phase: 'Ready', why, message }
}

export const componentWaiting = (why: WorkspaceReason, message: string): ComponentSummary => {
  return { phase: 'Provisioning', why, message }
}

export const componentFailed = (why: WorkspaceReason, message: string): ComponentSummary => {
  return { phase: 'Failed', why, message }
}

/** Why a component is not ready that had data: what is there again does not bring it back. Each is the type of a condition, too. */
export const DATA_LOST = ['VolumeLost', 'SecretLost'] as const satisfies readonly (WorkspaceReason &
  keyof typeof WORKSPACE_CONDITION_RULES)[]

/** Reasons that come before all others: what is lost cannot be made again. */
export const LOSS_REASONS: ReadonlySet<string> = new Set<WorkspaceReason>([
  'DiskBeingDeleted',
  'DiskLost',
  ...DATA_LOST,
])

/** Reports whether a component had data when it was last seen, as the status remembers it. */
export function hadData({ status }: { readonly status: WorkspaceStatus }, { kind, name }: Component): boolean {
  return status.irreplaceable?.includes(idOf(kind, name)) === true
}

/** Returns what the status says of a component. */
export function toldOf({ status }: { readonly status: WorkspaceStatus }, { kind, name }: Component) {
  return status.components?.find((one) => one.kind === kind && one.name === name)
}

/** A component with `ignoreOnDeploy` is not created. If it exists, it stays as it is. */
export function heldByDeploy({ ignoreOnDeploy }: { ignoreOnDeploy?: boolean | undefined }): Pick<Component, 'held'> {
  if (ignoreOnDeploy !== true) return {}
  const absent = componentReady('ignoreOnDeploy is true: it is not created', 'IgnoredOnDeploy')
  const message = 'it was deployed before ignoreOnDeploy became true: it is left as it is'
  return { held: { absent, present: componentReady(message, 'NotDeployedAnyMore') } }
}
