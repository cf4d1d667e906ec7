import type { Construct } from 'constructs'
import { childName, shortHash } from '../api/names.ts'
import { type MemberSnapshotMetadata, type MemberSnapshotProps, pointMetadata } from './member-snapshot.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { vmChildNames } from './virtual-machine-child.ts'

export interface MemberRestoreProps extends Pick<MemberSnapshotProps, 'workspace' | 'of'> {
  /** Name of the VirtualMachine. */
  readonly machine: string
  /** Name of its VirtualMachineSnapshot. */
  readonly snapshot: string
  /** Name of the restore, as it was written down: see {@link memberRestoreName}. */
  readonly name: string
}

/** A request to KubeVirt to put a machine back to a snapshot. */
export interface MemberRestoreObject {
  readonly apiVersion: 'snapshot.kubevirt.io/v1beta1'
  readonly kind: 'VirtualMachineRestore'
  readonly metadata: MemberSnapshotMetadata
  readonly spec: {
    readonly target: { readonly apiGroup: 'kubevirt.io'; readonly kind: 'VirtualMachine'; readonly name: string }
    readonly virtualMachineSnapshotName: string
    readonly targetReadinessPolicy: 'FailImmediate'
  }
}

/** The restore of one machine of a point in time. */
export class MemberRestore extends RenderedObject<MemberRestoreObject> {
  constructor(scope: Construct, id: string, props: MemberRestoreProps) {
    super(scope, id, memberRestore(props))
  }
}

export function renderMemberRestore(props: MemberRestoreProps): MemberRestoreObject {
  return renderOne((chart) => new MemberRestore(chart, 'Machine', props))
}

/**
 * Returns the name of the restore of a machine: `<WorkspaceSnapshot>-<machine>-<hash>`, a DNS-1123 label of at most 63 characters. Each request has another
 * one.
 * @param request what was asked for, and when
 */
export function memberRestoreName(of: MemberRestoreProps['of'], machine: string, request: string): string {
  return childName(`${of.name}-${machine}`, shortHash([of.uid, 'restore', machine, request]))
}

/** KubeVirt makes claims of other names, and leaves the present ones. It does not wait for a guest to end: one that runs has work on its disks. */
function memberRestore({ machine, snapshot, ...props }: MemberRestoreProps): MemberRestoreObject {
  return {
    apiVersion: 'snapshot.kubevirt.io/v1beta1',
    kind: 'VirtualMachineRestore',
    metadata: pointMetadata(props),
    spec: {
      target: { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: vmChildNames(machine).machine },
      virtualMachineSnapshotName: snapshot,
      targetReadinessPolicy: 'FailImmediate',
    },
  }
}
