import { namespaceState } from '../../cluster/namespace-state.ts'
import { controllerOfKind } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type KubeObject, keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { whenContentChanged, whenCreatedOrDeleted } from '../../runtime/predicates.ts'
import type { Change } from '../../runtime/store.ts'
import { BY_IMAGE_NAME, WORKSPACE, type WorkspaceCaches } from './caches.ts'
import type { WorkspaceView } from './views.ts'
import type { MachineFacts } from './world.ts'

/** From changes in the caches to the workspaces that they concern beside themselves. No decision is made here. Returns how to stop listening. */
export function listenForWorkspaceTriggers(
  caches: WorkspaceCaches,
  imageNamespace: () => string,
  enqueue: (key: string) => void,
) {
  const { workspaces, images, machines, cluster, reflectors } = caches
  const { networkPolicies, networks, volumes, configMaps, deployments, pods } = cluster.workspaces
  const all = (found: Iterable<WorkspaceView>) => {
    for (const { metadata } of found) enqueue(keyOf(metadata))
  }
  /** A workspace is called like its namespace. */
  const inNamespace = (namespace: string) => {
    if (workspaces.get(namespace) !== undefined) enqueue(namespace)
  }
  const within = ({ key }: Change<KubeObject>) => inNamespace(namespaceOf(key))
  const child = whenContentChanged(within)
  const clusterWide = whenContentChanged(({ before, after }: Change<KubeObject>) => {
    for (const object of [before, after]) inNamespace((object && controllerOfKind(object, WORKSPACE)?.name) ?? '')
  })
  return [
    images.onChange(({ key, before, after }) => {
      if (namespaceOf(key) !== imageNamespace() || isSame(aboutImage(before), aboutImage(after))) return
      all(workspaces.find(BY_IMAGE_NAME, key.slice(namespaceOf(key).length + 1)))
    }),
    machines.onChange((change) => {
      if (!isSame(aboutMachine(change.before), aboutMachine(change.after))) within(change)
    }),
    cluster.namespaces.onChange(({ key, before, after }) => {
      inNamespace(key)
      if (key === imageNamespace() && namespaceState(before) !== namespaceState(after)) all(workspaces.values())
    }),
    networkPolicies.onChange(child),
    networks.onChange(child),
    cluster.quotas.onChange((change) => {
      if (!isSame(unused(change.before), unused(change.after))) within(change)
    }),
    cluster.claims.onChange(child),
    volumes.onChange(clusterWide),
    configMaps.onChange(child),
    deployments.onChange(child),
    pods.onChange(child),
    cluster.secrets.onChange(whenCreatedOrDeleted(within)),
    reflectors.onInstalled(() => all(workspaces.values())),
  ]
}

/** How much of a quota is used changes all the time. */
function unused(quota: KubeObject | undefined): unknown {
  const { metadata, spec } = (quota ?? {}) as Partial<KubeObject> & { readonly spec?: unknown }
  return metadata && [metadata.uid, metadata.deletionTimestamp, metadata.labels, metadata.annotations, spec]
}

/** As much of an image as a workspace shows or rests on: many may name one, and its counts change with each of them. */
function aboutImage(image: ImageView | undefined): unknown {
  if (image === undefined) return undefined
  const { metadata, spec, status } = image
  const { phase, reason, artifact, observedGeneration } = status
  // Places in the queue are no news, nor is how far it is.
  const message = phase === 'Failed' ? status.message : undefined
  const isShared = artifact === undefined && (status.references?.count ?? 0) > 1
  const isLookedAt = observedGeneration === metadata.generation
  return [metadata.uid, metadata.deletionTimestamp, spec, phase, reason, message, artifact?.name, isShared, isLookedAt]
}

function aboutMachine(machine: MachineFacts | undefined): unknown {
  if (machine === undefined) return undefined
  const { metadata, spec, status } = machine
  const { phase, reason, message, observedGeneration } = status
  const { resourceVersion: _version, ...rest } = metadata
  return [rest, spec, phase, reason, message, observedGeneration]
}
