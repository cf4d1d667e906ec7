import {
  parseWorkspaceSnapshotSpec,
  type WorkspaceSnapshotSpec,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import { BY_NAMESPACE, byNamespace, type ClusterCaches } from '../../cluster/caches.ts'
import { ownKind } from '../../cluster/own-view.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { VIRTUAL_MACHINE_SNAPSHOT } from '../../kube/resource-types.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { type MachineSnapshotView, viewMachineSnapshot } from './views.ts'
import type { WorkspaceSnapshotView } from './world.ts'

export const WORKSPACE_SNAPSHOT: ResourceType = workspaceSnapshot

const OWN = ownKind<WorkspaceSnapshotView, WorkspaceSnapshotSpec>({
  type: WORKSPACE_SNAPSHOT,
  parse: parseWorkspaceSnapshotSpec,
  max: 10_000,
  matters: {},
  references: () => ({}),
})

export const { view: viewWorkspaceSnapshot, parsed: parsedWorkspaceSnapshotSpec } = OWN

/** What others keep, and points in time are made of. */
export interface LabCaches {
  readonly workspaces: Readable<KubeObject>
  /** Open Terrain's machines. */
  readonly machines: Readable<KubeObject> & {
    find(index: typeof BY_NAMESPACE, namespace: string): readonly KubeObject[]
  }
  /** Those of KubeVirt. */
  readonly kubevirt: Readable<KubeObject>
}

/** All caches that decisions about WorkspaceSnapshots use. */
export class WorkspaceSnapshotCaches {
  readonly snapshots = new Store<WorkspaceSnapshotView>().index(BY_NAMESPACE, byNamespace)
  readonly machineSnapshots = new Store<MachineSnapshotView>()
  readonly lab: LabCaches
  readonly cluster: Pick<ClusterCaches, 'claims' | 'snapshots' | 'namespaces'>
  readonly reflectors: Reflectors

  constructor(reflectors: Reflectors, lab: LabCaches, cluster: WorkspaceSnapshotCaches['cluster']) {
    this.reflectors = reflectors
    this.lab = lab
    this.cluster = cluster
    OWN.keepIn(this.snapshots, reflectors)
    reflectors.add(VIRTUAL_MACHINE_SNAPSHOT, this.machineSnapshots, viewMachineSnapshot, { onDemand: true })
    this.snapshots.onChange(() => reflectors.need([VIRTUAL_MACHINE_SNAPSHOT]))
  }

  /** Reports whether these caches are complete. KubeVirt's snapshots are read only once a WorkspaceSnapshot exists. */
  get isComplete(): boolean {
    return this.reflectors.areComplete([VIRTUAL_MACHINE_SNAPSHOT])
  }

  /** Returns the Workspace of a namespace, which has its name. */
  workspaceOf(namespace: string): KubeObject | undefined {
    return this.lab.workspaces.get(keyOf({ name: namespace }))
  }
}
