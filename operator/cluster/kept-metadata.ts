import { FINALIZERS } from '@open-terrain/constructs/operator'
import type { ObjectMeta, OwnerReference } from '../kube/kube-object.ts'
import { keptFinalizers, picked, upTo, VALUE_MAX } from '../runtime/foreign.ts'
import { intern } from '../runtime/interned.ts'
import { FOREGROUND, ORPHAN } from './dependents.ts'
import { ownerIn } from './ownership.ts'

/** Labels and annotations of a kind that caches keep. */
export interface Matters {
  readonly labels?: readonly string[]
  readonly annotations?: readonly string[]
  /** Annotations that are kept at full length, because a part of them would be useless. */
  readonly whole?: readonly string[]
}

/** Finalizers that decisions depend on. They are kept, however many others there are. */
const LASTING: ReadonlySet<string> = new Set([...Object.values(FINALIZERS), FOREGROUND, ORPHAN])

/** Returns the metadata that caches keep: identity, versions, controller, state of the deletion, and the selected labels and annotations. */
export function keptMetadata(metadata: ObjectMeta, matters: Matters = {}): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata
  const owner = ownerIn(metadata)
  return {
    name,
    namespace: intern(namespace),
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    deletionTimestamp,
    labels: picked(metadata.labels, matters.labels),
    annotations: withWhole(metadata.annotations, matters),
    ownerReferences: owner && [keptOwner(owner)],
    // At the end, because others can fill more with these than with all of the above.
    finalizers: metadata.finalizers?.length ? keptFinalizers(metadata.finalizers, LASTING)?.map(intern) : undefined,
  }
}

/** The API server limits no text of an owner reference. One with longer texts is of nothing that exists. */
function keptOwner(owner: OwnerReference): OwnerReference {
  const { apiVersion, kind, name, uid } = owner
  if ([apiVersion, kind, name, uid].every((text) => text.length <= VALUE_MAX)) return owner
  const kept = (text: string) => upTo(VALUE_MAX, text)
  return { ...owner, apiVersion: kept(apiVersion), kind: kept(kind), name: kept(name), uid: kept(uid) }
}

function withWhole(annotations: ObjectMeta['annotations'], { annotations: wanted, whole = [] }: Matters) {
  const found = picked(annotations, wanted)
  const values = whole.flatMap((name) => {
    const value = annotations?.[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return values.length === 0 ? found : { ...found, ...Object.fromEntries(values) }
}
