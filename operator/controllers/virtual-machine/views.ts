import { ANNOTATIONS, LABELS, type VirtualMachineStatus } from '@open-terrain/constructs'
import type { CloneSource } from '../../cluster/clone-sources.ts'
import { keptMetadata } from '../../cluster/kept-metadata.ts'
import type { KubeObject } from '../../kube/kube-object.ts'

/** A VirtualMachine of Open Terrain as stored. The spec is not validated: it may come from an older schema. */
export interface MachineView extends KubeObject {
  readonly spec: unknown
  readonly status: VirtualMachineStatus
}

/** The part of a root disk's DataVolume that decisions use. */
export interface CloneFacts extends KubeObject {
  readonly phase: string
  readonly progress: string
  readonly bound: { readonly reason: string; readonly message: string }
  readonly running: { readonly reason: string; readonly message: string }
  readonly cloneOf: CloneSource | undefined
}

/** Labels of a machine that a workspace created. */
const WORKSPACE_LABELS = [LABELS.workspace, LABELS.workspaceUid, LABELS.managedBy]

export function viewMachine(object: KubeObject): MachineView {
  const { apiVersion, kind, metadata, spec, status } = object as MachineView
  return {
    apiVersion,
    kind,
    metadata: keptMetadata(metadata, {
      labels: WORKSPACE_LABELS,
      annotations: [ANNOTATIONS.rendered],
    }),
    spec,
    status: status ?? {},
  }
}
