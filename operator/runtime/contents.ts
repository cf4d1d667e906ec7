import { createHash } from 'node:crypto'
import type { Stored } from './store.ts'

/** Which objects there are, in few bytes. */
export interface Contents {
  readonly objects: number
  /** SHA-256 (hex) over uid and resourceVersion of all of them: the same for the same objects, in whatever order. */
  readonly digest: string
}

export function contentsOf(objects: Iterable<Stored>): Contents {
  const versions = Array.from(objects, ({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`).toSorted()
  return { objects: versions.length, digest: createHash('sha256').update(versions.join('\n')).digest('hex') }
}
