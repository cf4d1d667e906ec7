import { isSame } from '../../base/equality.ts'
import { namespaceState } from '../../cluster/namespace-state.ts'
import { controllerOfKind } from '../../cluster/ownership.ts'
import { triggersOf } from '../../cluster/triggers.ts'
import type { ImageView } from '../../images/image-view.ts'
import { hasLostReference } from '../../images/references.ts'
import { type KubeObject, namespaceOf, objectKeyOf } from '../../kube/kube-object.ts'
import { type Change, whenContentChanged } from '../../runtime/store.ts'
import { BY_IMAGE_NAME, BY_SECRET_SOURCE, WORKSPACE, type WorkspaceCaches } from './caches.ts'
import { BY_LINK } from './child-caches.ts'
import { linksIn } from './child-views.ts'
import { hasItsDisk } from './decide/machine-disk.ts'
import { machineAge } from './decide/outdated.ts'
import { warningOfMachine } from './decide/spec-warnings.ts'
import { isSecretOfWorkspace } from './observe.ts'
import type { MachineFacts, WorkspaceView } from './world.ts'

/** Enqueues the workspaces that a change of another object in the caches concerns. Makes no decisions. Returns functions that stop the listeners. */
export function listenForWorkspaceTriggers(
  caches: WorkspaceCaches,
  imageNamespace: () => string,
  enqueue: (key: string) => void,
) {
  const { workspaces, images, machines, cluster, reflectors } = caches
  const {
    networkPolicies,
    networks,
    foreignNetworks,
    volumes,
    roleBindings,
    services,
    configMaps,
    deployments,
    jobs,
    pods,
    isolation,
  } = caches.childCaches
  const { all, refersTo } = triggersOf(workspaces, enqueue)
  /** A workspace has the name of its namespace. */
  const inNamespace = (namespace: string) => {
    if (workspaces.get(namespace) !== undefined) enqueue(namespace)
  }
  const within = ({ key }: Change<KubeObject>) => inNamespace(namespaceOf(key))
  const child = whenContentChanged(within)
  const clusterWide = whenContentChanged(({ before, after }: Change<KubeObject>) => {
    for (const object of [before, after]) inNamespace((object && controllerOfKind(object, WORKSPACE)?.name) ?? '')
  })
  /** A network that has the name of another one concerns that one too. */
  const joined =
    <T extends KubeObject>(linksOf: (network: T) => readonly string[]) =>
    ({ before, after }: Change<T>) => {
      const links = new Set([before, after].flatMap((one) => (one === undefined ? [] : linksOf(one))))
      for (const link of links)
        for (const { metadata } of networks.find(BY_LINK, link)) inNamespace(metadata.namespace ?? '')
      all([...workspaces.values()].filter(hasTakenName))
    }
  return [
    images.onChange(({ key, before, after }) => {
      const { namespace, name } = objectKeyOf(key)
      if (namespace !== imageNamespace()) return
      const isOfOne = workspaces.count(BY_IMAGE_NAME, name) === 1
      const isNews = !isSame(aboutImage(before, isOfOne), aboutImage(after, isOfOne))
      // An object that wanted something else of it may be gone.
      if (isNews || hasLostReference(before, after)) all(workspaces.find(BY_IMAGE_NAME, name))
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
    networks.onChange(joined(({ spec }) => linksIn((spec as { readonly config?: unknown }).config))),
    foreignNetworks.onChange(joined(({ links }) => links)),
    cluster.quotas.onChange((change) => {
      if (!isSame(unused(change.before), unused(change.after))) within(change)
    }),
    cluster.claims.onChange(child),
    volumes.onChange(clusterWide),
    roleBindings.onChange(child),
    services.onChange(child),
    configMaps.onChange(child),
    // Of other people's, only whether they exist matters.
    cluster.configMaps.onChange((change) => {
      if (change.before === undefined || change.after === undefined) within(change)
    }),
    deployments.onChange(child),
    jobs.onChange(child),
    pods.onChange(child),
    isolation.onChange(({ before, after }) => {
      if (before?.isReady !== after?.isReady || before?.node !== after?.node) all(workspaces.values())
    }),
    // Of other people's, the cache keeps hardly anything that changes while they exist. Each version of ours is looked at.
    cluster.secrets.onChange((change) =>
      change.after !== undefined && isSecretOfWorkspace(change.after) ? within(change) : child(change),
    ),
    // Each version of a source is copied.
    refersTo(cluster.secrets, BY_SECRET_SOURCE, (secret) => secret),
    reflectors.onInstalled(() => all(workspaces.values())),
  ]
}

/** Reports whether a network of a workspace waits for another one to go. Before it exists, no index shows it. */
function hasTakenName({ status: { components = [] } }: WorkspaceView): boolean {
  return components.some(({ reason }) => reason === 'NetworkNameTaken')
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
  const isObserved = observedGeneration === metadata.generation
  const shown = [phase, reason, message, artifact?.name, artifact?.revision, status.revision, references]
  return [metadata.uid, metadata.deletionTimestamp, spec, isObserved, shown]
}

/** What decides when its roles are played. */
function aboutPlays({ status: { clone, diskUID, restoredClaim, kubevirt } }: MachineFacts): unknown {
  return [clone?.uid, diskUID, restoredClaim, kubevirt?.instanceUID]
}

function aboutMachine(machine: MachineFacts | undefined): unknown {
  if (machine === undefined) return undefined
  const { metadata, spec, status } = machine
  const { phase, reason, message, kubevirt, observedGeneration, missingSecretKeys, rebuildRequest } = status
  const hasDisk = hasItsDisk(machine)
  const { resourceVersion: _version, ...rest } = metadata
  return [
    rest,
    spec,
    phase,
    reason,
    message,
    kubevirt?.nodeName,
    observedGeneration,
    missingSecretKeys,
    rebuildRequest,
    machineAge(machine),
    hasDisk,
    aboutPlays(machine),
    status.disks?.map(({ image }) => image),
    warningOfMachine(machine),
  ]
}
