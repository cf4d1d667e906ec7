import { namespaceState } from '../../cluster/namespace-state.ts'
import { controllerOfKind } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type KubeObject, keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { type Change, whenContentChanged, whenCreatedOrDeleted } from '../../runtime/store.ts'
import { BY_IMAGE_NAME, WORKSPACE, type WorkspaceCaches } from './caches.ts'
import type { MachineFacts, WorkspaceView } from './world.ts'

/** Enqueues the workspaces that a change of another object in the caches concerns. Makes no decisions. Returns functions that stop the listeners. */
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
  /** A workspace has the name of its namespace. */
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
      if (namespaceOf(key) !== imageNamespace()) return
      const name = key.slice(namespaceOf(key).length + 1)
      const isOfOne = workspaces.count(BY_IMAGE_NAME, name) === 1
      if (!isSame(aboutImage(before, isOfOne), aboutImage(after, isOfOne))) all(workspaces.find(BY_IMAGE_NAME, name))
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

/** A quota without its usage, which changes all the time. */
function unused(quota: KubeObject | undefined): unknown {
  const { metadata, spec } = (quota ?? {}) as Partial<KubeObject> & { readonly spec?: unknown }
  return metadata && [metadata.uid, metadata.deletionTimestamp, metadata.labels, metadata.annotations, spec]
}

/**
 * The part of an image that a workspace shows or decides on. Whether anything else refers to the image matters only for a correction: to the only
 * workspace that names it, as long as it has no artifact.
 */
function aboutImage(image: ImageView | undefined, isOfOne: boolean): unknown {
  if (image === undefined) return undefined
  const { metadata, spec, status } = image
  const { phase, reason, artifact, observedGeneration } = status
  // Queue positions and progress do not count as a change.
  const message = phase === 'Failed' ? status.message : undefined
  const references = isOfOne && artifact === undefined ? status.references : undefined
  const isLookedAt = observedGeneration === metadata.generation
  const shown = [phase, reason, message, artifact?.name, references]
  return [metadata.uid, metadata.deletionTimestamp, spec, isLookedAt, shown]
}

function aboutMachine(machine: MachineFacts | undefined): unknown {
  if (machine === undefined) return undefined
  const { metadata, spec, status } = machine
  const { phase, reason, message, observedGeneration } = status
  const { resourceVersion: _version, ...rest } = metadata
  return [rest, spec, phase, reason, message, observedGeneration]
}
