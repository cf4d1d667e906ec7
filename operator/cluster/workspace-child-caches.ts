import { LABELS, workspace } from '@open-terrain/constructs'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { DEPLOYMENT, NETWORK_ATTACHMENT_DEFINITION, NETWORK_POLICY, PERSISTENT_VOLUME } from '../kube/resource-types.ts'
import type { Reflectors } from '../runtime/reflectors.ts'
import { Store } from '../runtime/store.ts'
import { BY_OWNER, byOwnerOf } from './ownership.ts'
import {
  type ConfigMapView,
  type ContainerPodView,
  type DeploymentView,
  type PersistentVolumeView,
  type SpecView,
  viewConfigMap,
  viewContainerPod,
  viewDeployment,
  viewPersistentVolume,
  viewWithSpec,
  WORKSPACE_CONFIG_MAP,
  WORKSPACE_POD,
} from './workspace-views.ts'

/** Index over pods: `<namespace>/<name>` of the container cluster in their label. */
export const BY_CONTAINER_CLUSTER = 'container cluster'

const OURS = { labelSelector: LABELS.workspaceUid, onDemand: true }

const TYPES: readonly ResourceType[] = [
  DEPLOYMENT,
  WORKSPACE_POD,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME,
  WORKSPACE_CONFIG_MAP,
]

/** Characters of a Deployment with the maximum number of containers of a container cluster. A truncated spec could not be compared. */
const DEPLOYMENT_MAX = 700_000

/**
 * Caches of children that only workspaces have. They hold only objects with the label of a workspace, so thousands of other objects cost nothing.
 * Lists and watches start with the first workspace: a cluster without one has none of them. An object of the operator that has lost its label is
 * found when it is to be created again.
 */
export class WorkspaceChildCaches {
  readonly deployments = new Store<DeploymentView>().index(BY_OWNER, byOwnerOf(workspace))
  /** Pods of the container clusters. */
  readonly pods = new Store<ContainerPodView>().index(BY_CONTAINER_CLUSTER, byContainerCluster)
  readonly networks = new Store<SpecView>().index(BY_OWNER, byOwnerOf(workspace))
  readonly networkPolicies = new Store<SpecView>().index(BY_OWNER, byOwnerOf(workspace))
  readonly volumes = new Store<PersistentVolumeView>().index(BY_OWNER, byOwnerOf(workspace))
  readonly configMaps = new Store<ConfigMapView>().index(BY_OWNER, byOwnerOf(workspace))

  readonly #reflectors: Reflectors

  constructor(reflectors: Reflectors) {
    this.#reflectors = reflectors
    reflectors.add(DEPLOYMENT, this.deployments, viewDeployment, { ...OURS, keptMax: DEPLOYMENT_MAX })
    reflectors.add(WORKSPACE_POD, this.pods, viewContainerPod, { ...OURS, name: 'WorkspacePod' })
    reflectors.add(NETWORK_ATTACHMENT_DEFINITION, this.networks, viewWithSpec, OURS)
    reflectors.add(NETWORK_POLICY, this.networkPolicies, viewWithSpec, OURS)
    reflectors.add(PERSISTENT_VOLUME, this.volumes, viewPersistentVolume, OURS)
    reflectors.add(WORKSPACE_CONFIG_MAP, this.configMaps, viewConfigMap, { ...OURS, name: 'WorkspaceConfigMap' })
  }

  /** Starts the lists and watches. Called once there is a workspace. */
  need(): void {
    this.#reflectors.need(TYPES)
  }

  /** Whether these caches are complete. */
  get isComplete(): boolean {
    return this.#reflectors.areComplete(TYPES)
  }
}

function byContainerCluster({ metadata: { namespace = '', labels } }: KubeObject): readonly string[] {
  const name = labels?.[LABELS.containerCluster]
  return name === undefined ? [] : [keyOf({ namespace, name })]
}
