import { FINALIZERS } from '@open-terrain/constructs'
import type { ObjectMeta } from '../kube/kube-object.ts'
import { keptFinalizers, picked } from '../runtime/foreign.ts'
import { intern } from '../runtime/interned.ts'
import { FOREGROUND, ORPHAN } from './dependents.ts'

/** Labels and annotations of a kind that caches keep. */
export interface Matters {
  readonly labels?: readonly string[]
  readonly annotations?: readonly string[]
  /** An annotation that is kept at full length, because a part of it would be useless. */
  readonly whole?: string
}

/** Finalizers that decisions depend on. They are kept, however many others there are. */
const LASTING: ReadonlySet<string> = new Set([...Object.values(FINALIZERS), FOREGROUND, ORPHAN])

/** Returns the metadata that caches keep: identity, versions, controller, state of the deletion, and the selected labels and annotations. */
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
