import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  parseWorkspaceSnapshotSpec,
  type VirtualMachineStatus,
  type WorkspaceSnapshotSpec,
  type WorkspaceStatus,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import { BY_NAMESPACE, byNamespace, type ClusterCaches } from '../../cluster/caches.ts'
import { ownKind } from '../../cluster/own-view.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { VIRTUAL_MACHINE_RESTORE, VIRTUAL_MACHINE_SNAPSHOT } from '../../kube/resource-types.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { type MachineRestoreView, type MachineSnapshotView, viewMachineRestore, viewMachineSnapshot } from './views.ts'
import type { WorkspaceSnapshotView } from './world.ts'

export const WORKSPACE_SNAPSHOT: ResourceType = workspaceSnapshot

const OWN = ownKind<WorkspaceSnapshotView, WorkspaceSnapshotSpec>({
  type: WORKSPACE_SNAPSHOT,
  parse: parseWorkspaceSnapshotSpec,
  max: 10_000,
  matters: { annotations: [ANNOTATIONS.restoreRequestedAt, ANNOTATIONS.restoreScope] },
  references: () => ({}),
})

export const { view: viewWorkspaceSnapshot, parsed: parsedWorkspaceSnapshotSpec } = OWN

/** What others keep, and points in time are made of. */
export interface LabCaches {
  readonly workspaces: Readable<LabWorkspace>
  /** Open Terrain's machines. */
  readonly machines: Readable<LabMachine> & {
    find(index: typeof BY_NAMESPACE, namespace: string): readonly LabMachine[]
  }
  /** Those of KubeVirt. */
  readonly kubevirt: Readable<KubeVirtMachine>
  /** Those of container clusters among others, once {@link arePodsKnown}. */
  readonly pods: { find(index: typeof BY_NAMESPACE, namespace: string): readonly LabPod[] }
  readonly arePodsKnown: () => boolean
}

export interface LabPod extends KubeObject {
  readonly phase: string
}

export interface LabWorkspace extends KubeObject {
  /** As it is stored: not validated. Of a large one, what the operator always keeps. */
  readonly spec: unknown
  readonly status: Partial<Pick<WorkspaceStatus, 'expiry' | 'components' | 'passedReset' | 'uncountedReset'>>
}

export interface LabMachine extends KubeObject {
  readonly status: Pick<VirtualMachineStatus, 'replacement' | 'conditions' | 'resetRequest' | 'earlierResets'>
}

export interface KubeVirtMachine extends KubeObject {
  readonly spec: unknown
  readonly printableStatus: string
  readonly runStrategy: string
  readonly restoreInProgress: string
  readonly lastRestore: string
  readonly rootClaim: string
}

/** All caches that decisions about WorkspaceSnapshots use. */
export class WorkspaceSnapshotCaches {
  readonly snapshots = new Store<WorkspaceSnapshotView>().index(BY_NAMESPACE, byNamespace)
  readonly machineSnapshots = new Store<MachineSnapshotView>()
  readonly machineRestores = new Store<MachineRestoreView>()
  readonly lab: LabCaches
  readonly cluster: Pick<ClusterCaches, 'claims' | 'snapshots' | 'namespaces' | 'storageClasses'>
  readonly reflectors: Reflectors

  constructor(reflectors: Reflectors, lab: LabCaches, cluster: WorkspaceSnapshotCaches['cluster']) {
    this.reflectors = reflectors
    this.lab = lab
    this.cluster = cluster
    OWN.keepIn(this.snapshots, reflectors)
    reflectors.add(VIRTUAL_MACHINE_SNAPSHOT, this.machineSnapshots, viewMachineSnapshot, { onDemand: true })
    reflectors.add(VIRTUAL_MACHINE_RESTORE, this.machineRestores, viewMachineRestore, { onDemand: true })
    this.snapshots.onChange(({ after }) => reflectors.need(after === undefined ? [] : kindsFor(after)))
  }

  /**
   * Reports whether the caches for a WorkspaceSnapshot are complete. KubeVirt's snapshots are read only once a WorkspaceSnapshot exists, and its restores, and
   * the pods of the lab, once somebody asks for one.
   */
  isCompleteFor(snapshot: WorkspaceSnapshotView): boolean {
    const kinds = kindsFor(snapshot)
    return this.reflectors.areComplete(kinds) && (!kinds.includes(VIRTUAL_MACHINE_RESTORE) || this.lab.arePodsKnown())
  }

  /** Returns the Workspace of a namespace, which has its name. */
  workspaceOf(namespace: string): LabWorkspace | undefined {
    return this.lab.workspaces.get(keyOf({ name: namespace }))
  }
}

function kindsFor({ metadata, status }: WorkspaceSnapshotView): readonly ResourceType[] {
  const isAsked = metadata.annotations?.[ANNOTATIONS.restoreRequestedAt] !== undefined
  const hasRestores = isAsked || status.restore !== undefined
  return hasRestores ? [VIRTUAL_MACHINE_SNAPSHOT, VIRTUAL_MACHINE_RESTORE] : [VIRTUAL_MACHINE_SNAPSHOT]
}
