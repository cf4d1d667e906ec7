import { LABELS } from '@open-terrain/constructs'
import { LAB_ISOLATION, workspace } from '@open-terrain/constructs/operator'
import { BY_NAMESPACE, byNamespace } from '../../cluster/caches.ts'
import { BY_OWNER, byOwnerOf } from '../../cluster/ownership.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import {
  DEPLOYMENT,
  JOB,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME,
  ROLE_BINDING,
  SERVICE,
} from '../../kube/resource-types.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { Store } from '../../runtime/store.ts'
import {
  type ConfigMapView,
  type ContainerPodView,
  type DeploymentView,
  FOREIGN_NETWORK,
  type ForeignNetworkView,
  hasPodEnded,
  LAB_ISOLATION_POD,
  type LabIsolationPodView,
  linksIn,
  type PersistentVolumeView,
  type PlayJobView,
  type RoleBindingView,
  type ServiceView,
  type SpecView,
  viewConfigMap,
  viewContainerPod,
  viewDeployment,
  viewForeignNetwork,
  viewLabIsolationPod,
  viewPersistentVolume,
  viewPlayJob,
  viewRoleBinding,
  viewService,
  viewWithSpec,
  WORKSPACE_CONFIG_MAP,
  WORKSPACE_POD,
} from './child-views.ts'

/** Index over pods: `<namespace>/<name>` of the container cluster in their label. */
export const BY_CONTAINER_CLUSTER = 'container cluster'

/** Index over pods: `<namespace>/<name>` of the Job that plays roles in them, as their label says. */
export const BY_PLAY = 'play'

/** Index over pods: namespace of those that play roles and have not ended. */
export const BY_PLAYING = 'playing'

/** Index over pods: those about which Multus has reported something are filed under `yes`. */
export const BY_REPORTED_NETWORKS = 'reported networks'

/** Index over networks: names of their bridges, and of themselves, on nodes. */
export const BY_LINK = 'link'

const OURS = { labelSelector: LABELS.workspaceUid, onDemand: true }

const TYPES: readonly ResourceType[] = [
  DEPLOYMENT,
  JOB,
  WORKSPACE_POD,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME,
  ROLE_BINDING,
  SERVICE,
  WORKSPACE_CONFIG_MAP,
  LAB_ISOLATION_POD,
  FOREIGN_NETWORK,
]

/** Index over the pods that isolate nodes: name of the node. */
export const BY_NODE = 'node'

/** Room for the largest spec that its view keeps, and for everything besides. */
const DEPLOYMENT_MAX = 32_000

/**
 * Caches of children that only workspaces have. They hold only objects with the label of a workspace, so thousands of other objects cost nothing.
 * Lists and watches start with the first workspace: a cluster without one has none of them. An object of the operator that has lost its label is
 * found when it is to be created again.
 */
export class WorkspaceChildCaches {
  readonly deployments = new Store<DeploymentView>().index(BY_OWNER, byOwnerOf(workspace))
  /** Jobs that play the roles of machines. */
  readonly jobs = new Store<PlayJobView>().index(BY_OWNER, byOwnerOf(workspace))
  /** Pods of the container clusters, and of such Jobs. */
  readonly pods = new Store<ContainerPodView>()
    .index(BY_NAMESPACE, byNamespace)
    .index(BY_CONTAINER_CLUSTER, byLabel(LABELS.containerCluster))
    .index(BY_PLAY, byLabel(LABELS.play))
    .index(BY_PLAYING, byPlaying)
    .index(BY_REPORTED_NETWORKS, ({ attached }) => (attached === undefined ? [] : ['yes']))
  readonly networks = new Store<SpecView>()
    .index(BY_OWNER, byOwnerOf(workspace))
    .index(BY_LINK, ({ spec }) => linksIn((spec as { readonly config?: unknown } | undefined)?.config))
  /** Networks of the cluster that are of no workspace. */
  readonly foreignNetworks = new Store<ForeignNetworkView>().index(BY_LINK, ({ links }) => links)
  readonly networkPolicies = new Store<SpecView>().index(BY_OWNER, byOwnerOf(workspace))
  readonly volumes = new Store<PersistentVolumeView>().index(BY_OWNER, byOwnerOf(workspace))
  readonly roleBindings = new Store<RoleBindingView>().index(BY_OWNER, byOwnerOf(workspace))
  readonly services = new Store<ServiceView>().index(BY_OWNER, byOwnerOf(workspace))
  readonly configMaps = new Store<ConfigMapView>().index(BY_OWNER, byOwnerOf(workspace))

  /** Pods that keep their nodes out of the networks of workspaces. */
  readonly isolation = new Store<LabIsolationPodView>().index(BY_NODE, ({ node }) => (node === '' ? [] : [node]))

  readonly #reflectors: Reflectors

  constructor(reflectors: Reflectors) {
    this.#reflectors = reflectors
    reflectors.add(DEPLOYMENT, this.deployments, viewDeployment, { ...OURS, keptMax: DEPLOYMENT_MAX })
    reflectors.add(JOB, this.jobs, viewPlayJob, OURS)
    reflectors.add(WORKSPACE_POD, this.pods, viewContainerPod, { ...OURS, name: 'WorkspacePod' })
    reflectors.add(NETWORK_ATTACHMENT_DEFINITION, this.networks, viewWithSpec, OURS)
    reflectors.add(NETWORK_POLICY, this.networkPolicies, viewWithSpec, OURS)
    reflectors.add(PERSISTENT_VOLUME, this.volumes, viewPersistentVolume, OURS)
    reflectors.add(ROLE_BINDING, this.roleBindings, viewRoleBinding, OURS)
    reflectors.add(SERVICE, this.services, viewService, OURS)
    reflectors.add(WORKSPACE_CONFIG_MAP, this.configMaps, viewConfigMap, { ...OURS, name: 'WorkspaceConfigMap' })
    const foreign = { labelSelector: `!${LABELS.workspaceUid}`, onDemand: true, name: 'ForeignNetwork' }
    reflectors.add(FOREIGN_NETWORK, this.foreignNetworks, viewForeignNetwork, foreign)
    const { namespace, label: labelSelector } = LAB_ISOLATION
    const guards = { namespace, labelSelector, onDemand: true, name: 'LabIsolationPod' }
    reflectors.add(LAB_ISOLATION_POD, this.isolation, viewLabIsolationPod, guards)
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

function byPlaying(pod: ContainerPodView): readonly string[] {
  const { namespace = '', labels } = pod.metadata
  return labels?.[LABELS.play] === undefined || hasPodEnded(pod) ? [] : [namespace]
}

function byLabel(label: string) {
  return ({ metadata: { namespace = '', labels } }: KubeObject): readonly string[] => {
    const name = labels?.[label]
    return name === undefined ? [] : [keyOf({ namespace, name })]
  }
}
