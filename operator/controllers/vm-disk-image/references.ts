import type { ObjectKey } from '../../kube/kube-object.ts'
import type { DataVolumeView } from './views.ts'
import type { References } from './world.ts'

/** A kind of object that names images. Each such kind counts itself; an image's references are the sum. */
export interface ReferenceSource {
  /** From caches: for what people read. */
  cached(image: ObjectKey): References
  /** From live lists that begin after this call: for decisions that cannot be undone. Throws ApiError. */
  live(image: ObjectKey, signal: AbortSignal): Promise<References>
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

/** Key of what a clone reads from. A DataVolume is read by way of its claim. */
export function cloneSourceKey({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind === 'DataVolume' ? 'PersistentVolumeClaim' : kind}/${namespace}/${name}`
}

/** Key of what a DataVolume reads from, as long as it does: a clone that is finished needs its source no more. */
export function unfinishedCloneOf({ phase, cloneOf }: DataVolumeView): readonly string[] {
  return cloneOf === undefined || phase === 'Succeeded' ? [] : [cloneSourceKey(cloneOf)]
}
