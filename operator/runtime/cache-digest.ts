import { createHash } from 'node:crypto'
import { apiVersionOf } from '../kube/kube-object.ts'
import type { Kept } from './reflectors.ts'
import type { Stored } from './store.ts'

/** A short summary of which objects exist. */
export interface CacheDigest {
  readonly objects: number
  /** SHA-256 (hex) over uid and resourceVersion of all objects, independent of their order. */
  readonly digest: string
}

export function digestOf(objects: Iterable<Stored>): CacheDigest {
  const versions = Array.from(objects, ({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`).toSorted()
  return { objects: versions.length, digest: createHash('sha256').update(versions.join('\n')).digest('hex') }
}

/** Returns `<apiVersion>/<plural>`, with `?<label selector>` unless it means all objects of the kind. */
export function selectedKind({ type, selection }: Pick<Kept, 'type' | 'selection'>): string {
  const kind = `${apiVersionOf(type)}/${type.plural}`
  return selection.labelSelector === undefined ? kind : `${kind}?${selection.labelSelector}`
}
