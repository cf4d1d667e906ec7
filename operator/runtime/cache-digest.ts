import { createHash } from 'node:crypto'
import type { Selection } from '../kube/kube-client.ts'
import { apiVersionOf, type ResourceType } from '../kube/kube-object.ts'
import type { Stored } from './store.ts'

/** Which objects there are, in few bytes. */
export interface CacheDigest {
  readonly objects: number
  /** SHA-256 (hex) over uid and resourceVersion of all of them: the same for the same objects, in whatever order. */
  readonly digest: string
}

export function digestOf(objects: Iterable<Stored>): CacheDigest {
  const versions = Array.from(objects, ({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`).toSorted()
  return { objects: versions.length, digest: createHash('sha256').update(versions.join('\n')).digest('hex') }
}

/** `<apiVersion>/<plural>`, and `?<label selector>` where not all objects of the kind are meant. */
export function selectedKind({
  type,
  selection,
}: {
  readonly type: ResourceType
  readonly selection: Selection
}): string {
  const kind = `${apiVersionOf(type)}/${type.plural}`
  return selection.labelSelector === undefined ? kind : `${kind}?${selection.labelSelector}`
}
