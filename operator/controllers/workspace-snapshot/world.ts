import type {
  ParsedWorkspaceSnapshotSpec,
  WorkspaceSnapshotMember,
  WorkspaceSnapshotStatus,
} from '@open-terrain/constructs/operator'
import type { OwnView } from '../../cluster/own-view.ts'

/** A WorkspaceSnapshot as its cache keeps it. */
export interface WorkspaceSnapshotView extends OwnView {
  readonly status: WorkspaceSnapshotStatus
}

/** A machine or volume that a workspace has now. */
export interface MemberOfLab extends Pick<WorkspaceSnapshotMember, 'kind' | 'name'> {
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
  /** When it was taken, in RFC 3339. */
  readonly time?: string | undefined
  /** When it was created, in ms. */
  readonly createdMs: number | undefined
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
  /** What the API server answered when it last refused a snapshot. */
  readonly refusal: string | undefined
}
