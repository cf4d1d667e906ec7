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

/** What CDI has not had since the first version of `v1beta1`. A cluster without any other would be none with CDI. */
const LATER: ReadonlySet<string> = new Set([
  'spec.source.gcs',
  'spec.source.gcs.secretRef',
  'spec.source.http.checksum',
  'spec.source.s3.certConfigMap',
])

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

/** Reports whether the image needs a field that not every CDI has: whether this one has it is to be read. */
export function needsLaterField(target: Target): boolean {
  return firstDropped(target, LATER) !== undefined
}

/** Returns the first field that the image needs and that the API server would drop. */
export function firstDropped(target: Target, dropped: ReadonlySet<string>): SentField | undefined {
  if (target.sourceType === undefined) return undefined
  return SENT_FIELDS[target.sourceType].find(({ path, field }) => target[field] !== undefined && dropped.has(path))
}
