import type { DataVolume, SourceFields } from './models.ts'

const DOWNLOADED = ['http', 's3', 'gcs', 'registry', 'imageio', 'vddk']

/** How CDI fills a volume, by the member of `spec.source`. */
export type Source =
  /** An importer pod downloads it. */
  | { readonly kind: 'import'; readonly type: string; readonly fields: SourceFields }
  /** An importer pod only makes an empty disk. */
  | { readonly kind: 'blank' }
  /** Clones and uploads: none of this simulator's populators takes them, so the DataVolume stays as it is. */
  | { readonly kind: 'unsupported'; readonly type: string }

export function sourceOf(dataVolume: DataVolume): Source {
  const [type, fields] = Object.entries(dataVolume.spec.source ?? {})[0] ?? ['none', {}]
  if (type === 'blank') return { kind: 'blank' }
  return DOWNLOADED.includes(type) ? { kind: 'import', type, fields } : { kind: 'unsupported', type }
}
