import type { Target } from './target.ts'

/** A field of a DataVolume that people ask for, and that an older CDI may not have. */
interface SentField {
  /** Path in the DataVolume. */
  readonly path: string
  /** In the spec of the image. */
  readonly field: 'sourceType' | 'secretRef' | 'certConfigMap' | 'checksum'
  /** The least version of CDI that has it, if that is a recent one. */
  readonly since?: string
}

const CREDENTIALS = ['secretRef', 'certConfigMap'] as const
const ofSource = (type: string, fields: readonly (typeof CREDENTIALS)[number][]): readonly SentField[] => [
  { path: `spec.source.${type}`, field: 'sourceType' },
  ...fields.map((field) => ({ path: `spec.source.${type}.${field}`, field })),
]

/** By source type, the first being the source itself. */
const SENT_FIELDS: Readonly<Record<NonNullable<Target['sourceType']>, readonly SentField[]>> = {
  s3: ofSource('s3', CREDENTIALS),
  http: [...ofSource('http', CREDENTIALS), { path: 'spec.source.http.checksum', field: 'checksum', since: '1.65' }],
  registry: ofSource('registry', CREDENTIALS),
  gcs: ofSource('gcs', ['secretRef']),
  blank: ofSource('blank', []),
}

/** All that {@link firstDropped} asks for. */
export const DATA_VOLUME_FIELDS: readonly string[] = Object.values(SENT_FIELDS).flatMap((fields) =>
  fields.map(({ path }) => path),
)

/** Returns the first field that the image needs and that the API server would drop. */
export function firstDropped(target: Target, dropped: ReadonlySet<string>): SentField | undefined {
  if (target.sourceType === undefined) return undefined
  return SENT_FIELDS[target.sourceType].find(({ path, field }) => target[field] !== undefined && dropped.has(path))
}
