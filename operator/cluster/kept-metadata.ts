import { FINALIZERS } from '@open-terrain/constructs'
import type { ObjectMeta } from '../kube/kube-object.ts'
import { keptFinalizers, picked } from '../runtime/foreign.ts'
import { intern } from '../runtime/interned.ts'
import { FOREGROUND, ORPHAN } from './dependents.ts'

/** What matters to us of the metadata of a kind. */
export interface Matters {
  readonly labels?: readonly string[]
  readonly annotations?: readonly string[]
  /** An annotation that is kept as long as it is: a part of it would be no use. */
  readonly whole?: string
}

/** Finalizers that decisions are made by: they stay, however many others there are. */
const LASTING: ReadonlySet<string> = new Set([...Object.values(FINALIZERS), FOREGROUND, ORPHAN])

/** As much of an object's metadata as caches keep: who it is, where it belongs and how its deletion goes on, and the labels and annotations that matter. */
export function keptMetadata(metadata: ObjectMeta, matters: Matters = {}): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata
  const owner = metadata.ownerReferences?.find((one) => one.controller === true)
  return {
    name,
    namespace: intern(namespace),
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    deletionTimestamp,
    finalizers: metadata.finalizers?.length ? keptFinalizers(metadata.finalizers, LASTING)?.map(intern) : undefined,
    labels: picked(metadata.labels, matters.labels),
    annotations: withWhole(metadata.annotations, matters),
    ownerReferences: owner && [owner],
  }
}

function withWhole(annotations: ObjectMeta['annotations'], { annotations: wanted, whole }: Matters) {
  const found = picked(annotations, wanted)
  const value = whole === undefined ? undefined : annotations?.[whole]
  return whole === undefined || value === undefined ? found : { ...found, [whole]: value }
}
