import type { Construct } from 'constructs'
import { LABELS } from '../api/labels.ts'
import { childName, labelValue, shortHash } from '../api/names.ts'
import { workspaceSnapshot } from '../api/workspace-snapshot.ts'
import type { ChildOwnerReference } from './image-child.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { vmChildNames } from './virtual-machine-child.ts'
import { type WorkspaceRef, workspaceLabels } from './workspace-child.ts'

/** One machine or volume of a point in time. */
interface SnapshotMember {
  readonly kind: 'Machine' | 'Volume'
  /** Of the VirtualMachine, or of the claim that the volume has if it was never restored. */
  readonly name: string
  /** Name of the claim that a volume has now. Default: `name`. */
  readonly claim?: string | undefined
}

export interface MemberSnapshotProps {
  readonly workspace: WorkspaceRef
  /** The WorkspaceSnapshot, in the namespace of the workspace. */
  readonly of: { readonly name: string; readonly uid: string }
  readonly member: SnapshotMember
  /** Name of the snapshot, as it was written down: see {@link memberSnapshotName}. */
  readonly name: string
  /** Of a volume. Default: that of the cluster. */
  readonly snapshotClass?: string | undefined
  /** Of a machine. Default: that of KubeVirt. */
  readonly failureDeadline?: string | undefined
}

export interface MemberSnapshotMetadata {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly ownerReferences: readonly ChildOwnerReference[]
}

/** A snapshot of all disks of a machine, which KubeVirt takes. */
export interface MachineSnapshotObject {
  readonly apiVersion: 'snapshot.kubevirt.io/v1beta1'
  readonly kind: 'VirtualMachineSnapshot'
  readonly metadata: MemberSnapshotMetadata
  readonly spec: {
    readonly source: { readonly apiGroup: 'kubevirt.io'; readonly kind: 'VirtualMachine'; readonly name: string }
    readonly failureDeadline?: string
  }
}

/** A snapshot of a volume, which the driver of its storage takes. */
export interface VolumePointObject {
  readonly apiVersion: 'snapshot.storage.k8s.io/v1'
  readonly kind: 'VolumeSnapshot'
  readonly metadata: MemberSnapshotMetadata
  readonly spec: {
    readonly source: { readonly persistentVolumeClaimName: string }
    readonly volumeSnapshotClassName?: string
  }
}

export type MemberSnapshotObject = MachineSnapshotObject | VolumePointObject

/** The snapshot of one member of a point in time. */
export class MemberSnapshot extends RenderedObject<MemberSnapshotObject> {
  constructor(scope: Construct, id: string, props: MemberSnapshotProps) {
    super(scope, id, memberSnapshot(props))
  }
}

export function renderMemberSnapshot(props: MemberSnapshotProps): MemberSnapshotObject {
  return renderOne((chart) => new MemberSnapshot(chart, props.member.kind, props))
}

/**
 * Returns the name of the snapshot of a member: `<WorkspaceSnapshot>-<member>-<hash>`, a DNS-1123 label of at most 63 characters. The uid is in the hash, so an
 * object of the same name that was deleted before is not in the way.
 */
export function memberSnapshotName(of: MemberSnapshotProps['of'], { kind, name }: SnapshotMember): string {
  return childName(`${of.name}-${name}`, shortHash([of.uid, kind, name]))
}

function memberSnapshot(props: MemberSnapshotProps): MemberSnapshotObject {
  const { member, snapshotClass, failureDeadline } = props
  if (member.kind === 'Machine')
    return {
      apiVersion: 'snapshot.kubevirt.io/v1beta1',
      kind: 'VirtualMachineSnapshot',
      metadata: pointMetadata(props),
      spec: {
        source: { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: vmChildNames(member.name).machine },
        ...(failureDeadline !== undefined && { failureDeadline }),
      },
    }
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: pointMetadata(props),
    spec: {
      source: { persistentVolumeClaimName: member.claim ?? member.name },
      ...(snapshotClass !== undefined && { volumeSnapshotClassName: snapshotClass }),
    },
  }
}

/** Returns the metadata of an object that is made for a WorkspaceSnapshot, and goes with it. */
export function pointMetadata({
  workspace,
  of,
  name,
}: Pick<MemberSnapshotProps, 'workspace' | 'of' | 'name'>): MemberSnapshotMetadata {
  return {
    name,
    namespace: workspace.name,
    labels: { ...workspaceLabels(workspace), [LABELS.workspaceSnapshot]: labelValue(of.name) },
    ownerReferences: [
      {
        apiVersion: workspaceSnapshot.apiVersion,
        kind: workspaceSnapshot.kind,
        name: of.name,
        uid: of.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  }
}
