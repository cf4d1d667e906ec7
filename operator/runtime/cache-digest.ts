import { createHash } from 'node:crypto'
import { apiVersionOf } from '../kube/kube-object.ts'
import type { Kept } from './reflectors.ts'
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
export function selectedKind({ type, selection }: Pick<Kept, 'type' | 'selection'>): string {
  const kind = `${apiVersionOf(type)}/${type.plural}`
  return selection.labelSelector === undefined ? kind : `${kind}?${selection.labelSelector}`
}
