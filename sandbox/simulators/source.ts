import type { DataSource, DataVolume, SourceFields } from './models.ts'

const DOWNLOADED = ['http', 's3', 'gcs', 'registry', 'imageio', 'vddk']

/** What a clone reads from. */
export interface CloneSource {
  readonly kind: 'clone'
  readonly of: 'snapshot' | 'pvc'
  readonly namespace: string
  readonly name: string
}

/** How CDI fills a volume, by the member of `spec.source`. */
export type Source =
  /** An importer pod downloads it. */
  | { readonly kind: 'import'; readonly type: string; readonly fields: SourceFields }
  /** An importer pod only creates an empty disk. */
  | { readonly kind: 'blank' }
  | CloneSource
  /** Through a DataSource, given by its key. */
  | { readonly kind: 'alias'; readonly dataSource: string }
  /** For example uploads: no populator of this simulator handles them, so the DataVolume stays as it is. */
  | { readonly kind: 'unsupported'; readonly type: string }

export function sourceOf(dataVolume: DataVolume): Source {
  const { source, sourceRef } = dataVolume.spec
  const { namespace = '' } = dataVolume.metadata
  if (sourceRef !== undefined) {
    return { kind: 'alias', dataSource: `${sourceRef.namespace ?? namespace}/${sourceRef.name}` }
  }
  const [type, fields] = Object.entries(source ?? {})[0] ?? ['none', {}]
  if (type === 'blank') return { kind: 'blank' }
  if (DOWNLOADED.includes(type)) return { kind: 'import', type, fields }
  return cloneSourceIn(source ?? {}, namespace) ?? { kind: 'unsupported', type }
}

/** Returns what a DataSource points to; undefined while it points to nothing. */
export function targetOf({ metadata, spec }: DataSource): CloneSource | undefined {
  return cloneSourceIn(spec.source, metadata.namespace ?? '')
}

/** `kind/namespace/name` */
export function keyOfSource({ of, namespace, name }: CloneSource): string {
  return `${of}/${namespace}/${name}`
}

/** The reverse of {@link keyOfSource}. */
export function sourceWithKey(key: string): CloneSource | undefined {
  const [of, namespace, name] = key.split('/')
  if ((of !== 'snapshot' && of !== 'pvc') || namespace === undefined || name === undefined) return undefined
  return { kind: 'clone', of, namespace, name }
}

function cloneSourceIn(source: Readonly<Record<string, SourceFields>>, namespace: string): CloneSource | undefined {
  const [type, fields] = Object.entries(source)[0] ?? []
  if ((type !== 'snapshot' && type !== 'pvc') || fields?.name === undefined) return undefined
  return { kind: 'clone', of: type, namespace: fields.namespace ?? namespace, name: fields.name }
}
