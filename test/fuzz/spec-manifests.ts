import { RECLAIM_POLICIES, SOURCE_TYPES, type SourceType } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { fineUrl, oddUrl } from './odd-urls.ts'
import {
  anyJson,
  diskSize,
  duration,
  objectName,
  oddDuration,
  oddName,
  oddQuantity,
  oddText,
  slipOf,
  textAround,
} from './odd-values.ts'

/** How a manifest was made: meant to be valid, valid except for a few fields, or arbitrary. */
export const MANIFEST_CLASSES = ['valid', 'near-valid', 'noise'] as const
export type ManifestClass = (typeof MANIFEST_CLASSES)[number]

/** Our kinds that manifests are made of. */
export type ManifestKind = 'VMDiskImage' | 'VirtualMachine' | 'DataSync' | 'Workspace' | 'WorkspaceSnapshot'

export interface Manifest {
  readonly kind: ManifestKind
  readonly made: ManifestClass
  /** Unknown and repeated fields are refused, as `kubectl apply` requests it. Otherwise they are dropped. */
  readonly isStrict: boolean
  /** The manifest as it is sent. */
  readonly body: string
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** Numbers as people and programs write them. JavaScript would write many of them the same way. */
export const rawNumber = fc
  .oneof(
    fc.constantFrom('1048575', '1048576', '1048576.0', '1.048576e6', '1048576E0', '2000000.5', '-0', '0.0', '-1'),
    fc.constantFrom('1125899906842624', '1125899906842625', '1125899906842624.0', '9007199254740993', '1e15', '1E+9'),
    fc.constantFrom('9223372036854775807', '9223372036854775808', '18446744073709551616', '1e400', '1e-400'),
    fc.bigInt(-(2n ** 65n), 2n ** 65n).map(String),
    fc.nat(2 ** 30).map((size) => `${size}.000`),
  )
  .map(rawJSON)

const HEX: Readonly<Record<string, number>> = { md5: 32, sha1: 40, sha256: 64, sha512: 128 }
const checksum = fc
  .tuple(fc.constantFrom(...Object.keys(HEX)), fc.constantFrom(...'0123456789abcdef'))
  .map(([algorithm, digit]) => `${algorithm}:${digit.repeat(HEX[algorithm] ?? 0)}`)
const oddChecksum = fc.oneof(
  slipOf(checksum),
  checksum.map((text) => text.toUpperCase()),
  fc.constantFrom('', ':', 'md5:', 'sha256', 'sha3:00', 'crc32:00000000', `md5:${'a'.repeat(131)}`),
)

const SCHEMES_OF: Readonly<Record<Exclude<SourceType, 'blank'>, readonly string[]>> = {
  s3: ['https', 'http'],
  http: ['https', 'http'],
  gcs: ['gs', 'https', 'http'],
  registry: ['docker', 'oci-archive'],
}

const fineUrlOf = (type: Exclude<SourceType, 'blank'>) => fc.constantFrom(...SCHEMES_OF[type]).chain(fineUrl)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })

/** Sources of an image, in all valid combinations. */
const source = fc.oneof(
  fc.record({ sourceType: fc.constant('s3'), url: fineUrlOf('s3') }),
  fc.record({ sourceType: fc.constant('http'), url: fineUrlOf('http'), checksum: maybe(checksum) }),
  fc.record({ sourceType: fc.constant('gcs'), url: fineUrlOf('gcs') }),
  fc.record({ sourceType: fc.constant('registry'), url: fineUrlOf('registry') }),
  fc.constant({ sourceType: 'blank' }),
  fc.record({ url: fc.constantFrom(...Object.values(SCHEMES_OF).flat()).chain(fineUrl) }),
)

const rest = fc.record({
  storageClass: maybe(objectName),
  snapshotClass: maybe(objectName),
  secretRef: maybe(objectName),
  certConfigMap: maybe(objectName),
  name: maybe(fc.oneof(fc.constantFrom('harrison-vm', 'Ä 世 😀', 'x'.repeat(253), '😀'.repeat(253)), objectName)),
  diskSize: maybe(fc.oneof(diskSize, fc.integer({ min: 2 ** 20, max: 2 ** 50 }))),
  reclaimPolicy: maybe(fc.constantFrom(...RECLAIM_POLICIES)),
  unreferencedTTL: maybe(duration),
  suspend: maybe(fc.boolean()),
})

type Spec = Readonly<Record<string, unknown>>
export const validImageSpec: fc.Arbitrary<Spec> = fc.tuple(source, rest).map(([one, other]) => ({ ...one, ...other }))

const ODD_FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  url: oddUrl,
  sourceType: fc.oneof(fc.constantFrom<string>(...SOURCE_TYPES), fc.constantFrom('', 'S3', 'vddk', 'http ', 'imageio')),
  diskSize: fc.oneof({ arbitrary: oddQuantity, weight: 3 }, rawNumber),
  storageClass: oddName,
  snapshotClass: oddName,
  secretRef: oddName,
  certConfigMap: oddName,
  name: fc.oneof(oddText, textAround(253)),
  checksum: fc.oneof(checksum, oddChecksum),
  reclaimPolicy: fc.constantFrom('', 'retain', 'Recycle', 'Delete ', 'Delete'),
  unreferencedTTL: oddDuration,
  suspend: fc.constantFrom<unknown>('true', 'false', 0, 1, '', null, false),
}
const FIELDS = Object.keys(ODD_FIELDS)
/** Fields that no kind has. */
export const UNKNOWN = [
  'URL',
  'Url',
  'url ',
  'storageClassName',
  'size',
  'constructor',
  '__proto__',
  'toString',
  'ä',
  '',
]

/** Only in the path of an archive is the user the only problem: elsewhere it is not a valid host either. */
const urlWithUser = fc
  .constantFrom('oci-archive', 'https')
  .chain(fineUrl)
  .map((url) => url.replace('://', '://user:secret@'))

type Change = readonly [field: string, value: unknown]

const fieldChange: fc.Arbitrary<Change> = fc.oneof(
  {
    arbitrary: fc.oneof(...Object.entries(ODD_FIELDS).map(([field, odd]) => fc.tuple(fc.constant(field), odd))),
    weight: 6,
  },
  { arbitrary: fc.tuple(fc.constant('url'), oddUrl), weight: 4 },
  { arbitrary: fc.tuple(fc.constant('url'), urlWithUser), weight: 2 },
  fc.tuple(fc.constant('sourceType'), fc.constantFrom(...SOURCE_TYPES)),
  fc.tuple(fc.constant('name'), textAround(253)),
  { arbitrary: fc.tuple(fc.constant('diskSize'), ODD_FIELDS['diskSize'] as fc.Arbitrary<unknown>), weight: 2 },
  fc.tuple(fc.constantFrom(...FIELDS), fc.oneof(anyJson, rawNumber)),
  // JSON omits undefined: the field is missing.
  fc.tuple(fc.constantFrom(...FIELDS), fc.constant(undefined)),
  fc.tuple(fc.constantFrom(...UNKNOWN), anyJson),
)

const fewChanges = fc.oneof(
  { arbitrary: fc.array(fieldChange, { minLength: 1, maxLength: 1 }), weight: 3 },
  fc.array(fieldChange, { minLength: 2, maxLength: 3 }),
)
export const nearValidImageSpec: fc.Arbitrary<object> = fc
  .tuple(validImageSpec, fewChanges)
  .map(([spec, changes]) => withEntries([...Object.entries(spec), ...changes]))

const noiseSpec = fc.oneof(
  anyJson,
  fc.constant(undefined),
  fc.array(fc.tuple(fc.oneof(fc.constantFrom(...FIELDS), oddText), anyJson), { maxLength: 6 }).map(withEntries),
  fc.array(fieldChange, { maxLength: 8 }).map(withEntries),
)

/** As in JSON.parse, a field `__proto__` is an ordinary field. */
function withEntries(entries: readonly Change[]): object {
  return Object.fromEntries(entries)
}

/** Manifests of one kind. Most are nearly valid, which is where two judges are most likely to differ. */
export function manifestsOf(
  kind: ManifestKind,
  specs: Readonly<Record<'valid' | 'nearValid' | 'noise', fc.Arbitrary<unknown>>>,
): fc.Arbitrary<Manifest> {
  const manifestOf = (made: ManifestClass, name: fc.Arbitrary<string>, spec: fc.Arbitrary<unknown>) =>
    fc.record({ name, isStrict: fc.boolean(), spec }).map((one): Manifest => {
      const metadata = { name: one.name }
      const body = JSON.stringify({ apiVersion: 'pelotech.ot/v1alpha1', kind, metadata, spec: one.spec })
      return { kind, made, isStrict: one.isStrict, body }
    })
  return fc.oneof(
    { arbitrary: manifestOf('valid', objectName, specs.valid), weight: 3 },
    { arbitrary: manifestOf('near-valid', objectName, specs.nearValid), weight: 12 },
    { arbitrary: manifestOf('near-valid', oddName, specs.valid), weight: 1 },
    { arbitrary: manifestOf('noise', objectName, specs.noise), weight: 2 },
  )
}

export const imageManifest = manifestsOf('VMDiskImage', {
  valid: validImageSpec,
  nearValid: nearValidImageSpec,
  noise: noiseSpec,
})
