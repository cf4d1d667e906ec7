import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  childName,
  memoizedLately,
  type ParsedSpec,
  type Policy,
  type Reason,
  revisionOf,
  type SourceType,
  shortHash,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { budgetKeyOf } from '../../../images/decide/image-content.ts'
import { DEFAULT_KEYS } from '../../../images/decide/image-meaning.ts'
import { type ImageView, parsedImageSpec } from '../../../images/image-view.ts'
import { reasonOf } from '../../../runtime/summary.ts'

/** What the spec asks for, with the policy's defaults filled in. */
export type Target = Readonly<ReturnType<typeof resolveTarget>>

/** The spec of an image with what it asks for, or why it cannot be used. */
export type ResolvedSpec =
  | (Extract<ParsedSpec, { ok: true }> & { readonly target: Target })
  | Exclude<ParsedSpec, { ok: true }>

/** How many images may be in work at the same time, with many to spare: each is reconciled a few times in a row, and then not for hours. */
export const AT_WORK = 128

const resolvedFor = memoizedLately(AT_WORK, (image: ImageView) =>
  memoizedLately(1, (policy: Policy): ResolvedSpec => {
    const parsed = parsedImageSpec(image)
    return parsed.ok ? { ...parsed, target: resolveTarget(parsed.spec, image, policy) } : parsed
  }),
)

export function resolveSpec(image: ImageView, policy: Policy): ResolvedSpec {
  return resolvedFor(image)(policy)
}

/** Defaults are those from when the revision was first queued: a later policy change does not affect it. */
function resolveTarget(spec: VMDiskImageSpec, image: ImageView, policy: Policy) {
  const { annotations = {}, name } = image.metadata
  const revision = revisionOf(spec, annotations[ANNOTATIONS.syncRequestedAt])
  const defaults = frozenDefaults(image.status, spec, revision) ?? defaultsFor(spec, policy)
  const sourceType = spec.sourceType ?? (defaults.sourceType as SourceType | undefined)
  const snapshotClass = spec.snapshotClass ?? defaults.snapshotClass
  const secretRef = spec.secretRef ?? defaults.secretRef
  const certConfigMap = spec.certConfigMap ?? defaults.certConfigMap
  return {
    revision,
    /** Name of its DataVolume, and of its first snapshot. */
    volumeName: childName(name, revision),
    /** Name of its snapshot of the wanted class. */
    snapshotName: snapshotNameFor(name, revision, snapshotClass, image.status),
    /** Values that come from the policy, to be frozen in the status. */
    defaults,
    /** `spec.name`: a label of the children, and nothing else. */
    specName: spec.name,
    url: spec.url,
    sourceType,
    diskSize: spec.diskSize ?? defaults.diskSize,
    storageClass: spec.storageClass ?? defaults.storageClass,
    snapshotClass,
    secretRef: sourceType === 'blank' ? undefined : secretRef,
    certConfigMap: sourceType === 'blank' || sourceType === 'gcs' ? undefined : certConfigMap,
    checksum: spec.checksum,
    /** Identifies the budget of downloads: the revision, and every action of a person that grants a new budget. */
    budgetKey: budgetKeyOf(revision, { secretRef, certConfigMap }, annotations),
  }
}

export type DefaultedField = keyof typeof DEFAULT_KEYS

/** Where the value of a field was set, in the words of a message: in the spec, or by the policy. */
export function originOf(field: DefaultedField, { spec }: { readonly spec: ParsedSpec }): string {
  return spec.ok && spec.spec[field] !== undefined ? `spec.${field}` : `the policy key ${DEFAULT_KEYS[field]}`
}

type Defaults = NonNullable<VMDiskImageStatus['defaults']>

function defaultsFor(spec: VMDiskImageSpec, policy: Policy): Defaults {
  const missing = Object.entries(DEFAULT_KEYS).filter(([field]) => spec[field as DefaultedField] === undefined)
  return withoutUndefined(Object.fromEntries(missing.map(([field, key]) => [field, policy[key]])))
}

function frozenDefaults(status: VMDiskImageStatus, spec: VMDiskImageSpec, revision: string): Defaults | undefined {
  const { defaults } = status
  if (status.revision !== revision || defaults === undefined) return undefined
  const isComplete = (spec.sourceType ?? defaults.sourceType) && (spec.diskSize ?? defaults.diskSize)
  // Blocked before the queue, a default that is missing, or names something missing, can still change.
  const mayChange = status.phase === 'Queued' && DEFAULT_DEPENDENT.has(reasonOf(status) ?? '')
  return isComplete && !mayChange ? defaults : undefined
}

const DEFAULT_DEPENDENT: ReadonlySet<string> = new Set<Reason>([
  'SourceTypeMissing',
  'DiskSizeMissing',
  'UrlNotAllowed',
  'ChecksumMissing',
  'SecretMissing',
  'SecretInvalid',
  'CertConfigMapMissing',
  'CertConfigMapInvalid',
  'CDITooOld',
  'StorageClassMissing',
  'SnapshotterMissing',
  'SnapshotClassMissing',
  'SnapshotClassMismatch',
])

/** The class of a snapshot cannot be changed. Another class needs another snapshot, whose name has a suffix of its own. */
export function snapshotNameFor(
  name: string,
  revision: string,
  snapshotClass: string | undefined,
  { artifact }: VMDiskImageStatus,
): string {
  const isFirst = artifact?.revision !== revision || artifact.snapshotClass === undefined
  if (isFirst) return childName(name, revision)
  if (artifact.snapshotClass === snapshotClass) return artifact.name
  return childName(name, shortHash([revision, snapshotClass]))
}
