import type { KubeClient, RequestOptions } from '../../kube/kube-client.ts'
import type { KubeObject, ObjectKey } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { type DataVolumeView, sourceOfClaim, viewDataVolume } from './views.ts'
import type { References } from './world.ts'

/** A kind of object that names images. Each such kind counts itself; an image's references are the sum. */
export interface ReferenceSource {
  /** From caches: for what people read. */
  cached(image: ObjectKey): References
  /** From a live list: for decisions that cannot be undone. */
  live(image: ObjectKey, options: RequestOptions): Promise<References>
  /** Calls back with the `<namespace>/<name>` of an image whose references may have changed; returns how to stop that. */
  onChange(listener: (imageKey: string) => void): () => void
}

const NAMES_SHOWN = 10

export function sumReferences(parts: readonly References[]): References {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    names: parts.flatMap(({ names }) => names).slice(0, NAMES_SHOWN),
    users: parts.flatMap(({ users }) => users),
  }
}

/** The label of CDI's helper claims, which have no owner while they carry a clone across namespaces. */
const CLONE_HELPER = 'cdi.kubevirt.io/OwnedByUID'

/** Key of what a clone reads from. A DataVolume is read by way of its claim. */
export function cloneSourceKey({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind === 'DataVolume' ? 'PersistentVolumeClaim' : kind}/${namespace}/${name}`
}

/** Key of what a DataVolume reads from, as long as it does: a clone that is finished needs its source no more. */
export function unfinishedCloneOf({ phase, cloneOf }: DataVolumeView): readonly string[] {
  return cloneOf === undefined || phase === 'Succeeded' ? [] : [cloneSourceKey(cloneOf)]
}

/**
 * Whether a clone that is not finished reads from this object; by live lists, at the moment of the decision.
 * @param child a VolumeSnapshot or DataVolume of ours
 * @param sources keys of what a clone that reads from it may name
 */
export async function isBeingCloned(
  client: KubeClient,
  child: ObjectKey,
  sources: ReadonlySet<string>,
  options: RequestOptions,
): Promise<boolean> {
  const readsFrom = (object: KubeObject) => unfinishedCloneOf(viewDataVolume(object))
  for await (const keys of listAll(client, DATA_VOLUME, { ...options, project: readsFrom }))
    if (keys.some((key) => sources.has(key))) return true
  const helpers = { ...options, namespace: child.namespace ?? '', labelSelector: CLONE_HELPER, project: sourceOfClaim }
  for await (const source of listAll(client, PERSISTENT_VOLUME_CLAIM, helpers)) if (source === child.name) return true
  return false
}
