import { LABELS } from '@open-terrain/constructs'
import { controllerOfKind, familyKey } from '../../cluster/ownership.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { onlyNews } from '../../runtime/news.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { stopAll } from '../../runtime/stops.ts'
import type { Change } from '../../runtime/store.ts'
import {
  BY_CHILD,
  BY_IMAGE,
  BY_IMAGE_NAMESPACE,
  BY_NAMESPACE,
  BY_PASSWORD_SECRET,
  BY_UID,
  MACHINE,
  type MachineCaches,
} from './caches.ts'
import { namespaceState } from './observe.ts'
import type { ImageFacts, MachineView } from './views.ts'

/** From changes in the caches to machines that they concern. No decision is made here. Returns how to stop listening. */
export function listenForTriggers(caches: MachineCaches, enqueue: (key: string) => void): () => void {
  const { machines, shared, kubevirt, instances } = caches
  const all = (found: Iterable<MachineView>) => {
    for (const vm of found) enqueue(keyOf(vm.metadata))
  }
  const waiting = () => all([...machines.values()].filter(({ status }) => status.phase !== 'Ready'))
  /** By owner or label, and by name in any case: whoever takes or frees a name concerns who needs it. */
  const child = onlyNews(({ key, before, after }: Change<KubeObject>) => {
    for (const object of [before, after]) {
      const owner = object && controllerOfKind(object, MACHINE)
      const uid = owner?.uid ?? object?.metadata.labels?.[LABELS.vmUid]
      if (uid !== undefined) all(machines.find(BY_UID, familyKey(object?.metadata.namespace, uid)))
    }
    all(machines.find(BY_CHILD, key))
  })
  const stops = [
    machines.onChange(({ key }) => enqueue(key)),
    shared.images.onChange(({ key, before, after }) => {
      if (!isSame(aboutImage(before), aboutImage(after))) all(machines.find(BY_IMAGE, key))
    }),
    shared.dataVolumes.onChange(child),
    shared.claims.onChange(child),
    kubevirt.onChange(child),
    instances.onChange(onlyNews(({ key }) => all(machines.find(BY_CHILD, key)))),
    shared.secrets.onChange((change) => {
      child(change)
      all(machines.find(BY_PASSWORD_SECRET, change.key))
    }),
    // What a disk waits for, or is warned of.
    shared.storageClasses.onChange(onlyNews(waiting)),
    shared.namespaces.onChange(({ key, before, after }) => {
      if (namespaceState(before) === namespaceState(after)) return
      all(machines.find(BY_NAMESPACE, key))
      all(machines.find(BY_IMAGE_NAMESPACE, key))
    }),
    caches.reflectors.onInstalled(waiting),
  ]
  return stopAll(stops)
}

/** As much of an image as a machine shows or rests on: thousands may name one, and its counts change with each of them. */
function aboutImage(image: ImageFacts | undefined): unknown {
  if (image === undefined) return undefined
  const { metadata, spec, status } = image
  const { phase, message, progress, queuePosition, revision, artifact } = status
  const isLookedAt = status.observedGeneration === metadata.generation
  // Whoever is left alone with it may have it corrected, as long as it has no artifact.
  const isShared = artifact === undefined && (status.references?.count ?? 0) > 1
  return [
    metadata.uid,
    metadata.deletionTimestamp,
    spec,
    isLookedAt,
    isShared,
    phase,
    message,
    progress,
    queuePosition,
    revision,
    artifact,
  ]
}
