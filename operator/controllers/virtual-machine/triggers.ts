import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { VIRTUAL_MACHINE_CONDITIONS } from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import { BY_CHILD, BY_NAMESPACE } from '../../cluster/caches.ts'
import { namespaceState } from '../../cluster/namespace-state.ts'
import { familyKey } from '../../cluster/ownership.ts'
import { triggersOf } from '../../cluster/triggers.ts'
import type { ImageView } from '../../images/image-view.ts'
import { BY_IMAGE, hasLostReference } from '../../images/references.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { whenContentChanged } from '../../runtime/store.ts'
import { BY_FAMILY, BY_IMAGE_NAMESPACE, BY_NAMED_SECRET, BY_REPLACED, MACHINE, type MachineCaches } from './caches.ts'
import { shorterNameOf } from './hashed-names.ts'
import { isPending } from './room.ts'
import type { MachineView } from './world.ts'

/** Enqueues the machines that a change of another object in the caches concerns. Makes no decisions. Returns functions that stop listening. */
export function listenForMachineTriggers(caches: MachineCaches, enqueue: (key: string) => void) {
  const { machines, images, cluster, kubevirt, instances } = caches
  const { all, owns, refersTo } = triggersOf(machines, enqueue)
  const waiting = () => all([...machines.values()].filter(({ status }) => status.phase !== 'Ready'))
  const children = {
    of: MACHINE,
    label: LABELS.vmUid,
    byUid: (uid: string, namespace: string | undefined) => machines.find(BY_FAMILY, familyKey(namespace, uid)),
    byChild: BY_CHILD,
  }
  return [
    refersTo(images, BY_IMAGE, aboutImage),
    images.onChange(({ key, before, after }) => {
      const shorter = shorterNameOf(key, before, after)
      if (shorter !== undefined) all(machines.find(BY_IMAGE, shorter))
      // An object that wanted something else of it may be gone.
      if (hasLostReference(before, after)) all(machines.find(BY_IMAGE, key).filter(isOnAnotherImage))
    }),
    owns(cluster.dataVolumes, children),
    owns(cluster.claims, children),
    owns(kubevirt, children),
    refersTo(instances, BY_CHILD),
    owns(cluster.secrets, children),
    // Each version may have another value, which the cache does not have.
    refersTo(cluster.secrets, BY_NAMED_SECRET, (secret) => secret),
    // A disk may wait for its StorageClass, or have a warning about it.
    cluster.storageClasses.onChange(whenContentChanged(waiting)),
    ...roomTriggers(caches, all),
    refersTo(cluster.namespaces, BY_NAMESPACE, namespaceState),
    refersTo(cluster.namespaces, BY_IMAGE_NAMESPACE, namespaceState),
    caches.reflectors.onInstalled(waiting),
  ]
}

/**
 * Requeues the machines whose new root disk is recorded and not asked for, when there may be room for it: a quota has changed, or what others of their namespace
 * have asked for. A quota changes with each claim of its namespace.
 */
function roomTriggers(
  { machines, cluster }: MachineCaches,
  all: (found: Iterable<MachineView>) => void,
): readonly (() => void)[] {
  const roomIn = ({ metadata: { namespace = '' } }: KubeObject) => {
    const isUnasked = ({ status: { replacement } }: MachineView) =>
      cluster.dataVolumes.get(keyOf({ namespace, name: replacement?.disk.name ?? '' })) === undefined
    all(machines.find(BY_REPLACED, namespace).filter(isUnasked))
  }
  const asked = ({ metadata, status }: MachineView) => [
    metadata.annotations?.[ANNOTATIONS.deleteDiskFirst],
    status.replacement,
  ]
  return [
    cluster.quotas.onChange(
      whenContentChanged(({ before, after }) => {
        const quota = after ?? before
        if (quota !== undefined) roomIn(quota)
      }),
    ),
    cluster.dataVolumes.onChange(({ before, after }) => {
      if (before !== undefined && isPending(before) && !isPending(after)) roomIn(before)
    }),
    // What was waited for counts as a claim from here on, and what is gone does no more.
    cluster.claims.onChange(({ before, after }) => {
      if (before === undefined && after?.metadata.labels?.[LABELS.vmUid] !== undefined) roomIn(after)
      else if (before !== undefined && after === undefined) roomIn(before)
    }),
    machines.onChange(({ before, after }) => {
      if (before?.status.replacement !== undefined && !isSame(asked(before), after && asked(after))) roomIn(before)
    }),
  ]
}

function isOnAnotherImage({ status }: MachineView): boolean {
  return status.conditions?.some(({ type }) => type === VIRTUAL_MACHINE_CONDITIONS.ImageMismatch) === true
}

/** The part of an image that a machine shows or depends on. Thousands of machines may name an image, and each one changes its counts. */
function aboutImage(image: ImageView | undefined): unknown {
  if (image === undefined) return undefined
  const { metadata, spec, status } = image
  const { phase, message, progress, queuePosition, revision, artifact } = status
  const isObserved = status.observedGeneration === metadata.generation
  // The only object that refers to an image may have it corrected, as long as it has no artifact.
  const isShared = artifact === undefined && (status.references?.count ?? 0) > 1
  const shown = [phase, message, progress, queuePosition, revision, artifact]
  return [metadata.uid, metadata.deletionTimestamp, spec, isObserved, isShared, shown]
}
