import {
  compareQuantities,
  DATA_SYNC_IMAGE_FIELDS,
  isSameUrl,
  type Policy,
  type VMDiskImageSpec,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import type { ImageView } from '../image-view.ts'

/** The policy key behind each field that decides which disk an image is, and that a spec may leave out. */
export const DEFAULT_KEYS = {
  sourceType: 'defaultSourceType',
  diskSize: 'defaultDiskSize',
  storageClass: 'defaultStorageClass',
  snapshotClass: 'defaultSnapshotClass',
  secretRef: 'defaultSecretRef',
  certConfigMap: 'defaultCertConfigMap',
} as const satisfies Partial<Record<keyof VMDiskImageSpec, keyof Policy>>

/** What a spec may leave out, and the policy key that applies then. */
const DEFAULTS: Readonly<Partial<Record<string, keyof Policy>>> = { ...DEFAULT_KEYS, reclaimPolicy: 'reclaimPolicy' }

/** The fields that decide which disk an image is: those that a DataSync sets, but for the display name. */
const CONTENT = DATA_SYNC_IMAGE_FIELDS.filter((field) => field !== 'name')

/** Reports whether these differences make it another image. The others concern how it is kept. */
export function isOtherContent(fields: readonly string[]): boolean {
  return CONTENT.some((field) => fields.includes(field))
}

type Fields = Readonly<Record<string, unknown>>

/** The part of the policy that a spec is completed from. */
export type ImageDefaults = Partial<Policy>

/** An image, or what somebody wants of one. */
type Actual = Pick<ImageView, 'spec' | 'isCut'> & { readonly status?: ImageView['status'] }

/** Returns the fields in which an image is another one than is wanted: what both leave out is the same, and what only one of them says may be the default. */
export function contentDifferences(wanted: VMDiskImageSpec, actual: Actual, policy: ImageDefaults): string[] {
  return actual.isCut === true ? [] : CONTENT.filter((field) => !isSameField(field, wanted, actual, policy))
}

/**
 * Returns the fields of a template in which an image differs, as far as that is known: of a spec that was cut, nothing is. What the template leaves
 * out does not count, and neither does the display name.
 */
export function mismatches(template: VMDiskImageSpec, actual: Actual, policy: ImageDefaults): string[] {
  if (actual.isCut === true) return []
  return Object.keys(template).filter((field) => field !== 'name' && !isSameField(field, template, actual, policy))
}

function isSameField(field: string, wanted: VMDiskImageSpec, { spec, status }: Actual, policy: ImageDefaults): boolean {
  const one = (wanted as Fields)[field]
  const other = ((spec ?? {}) as Fields)[field]
  if (one === undefined && other === undefined) return true
  const key = DEFAULTS[field]
  const byPolicy = key === undefined ? undefined : policy[key]
  // An image keeps the defaults from when it was queued.
  const frozen = (status?.defaults as Fields | undefined)?.[field]
  const [a, b] = [one ?? frozen ?? byPolicy, other ?? frozen ?? byPolicy]
  if (field === 'url' && typeof a === 'string' && typeof b === 'string') return isSameUrl(a, b)
  return isSameValue(a, b)
}

/** One size can be written in many ways: 24Gi is 24576Mi, and a number of bytes need not be a string. */
export function isSameValue(one: unknown, other: unknown): boolean {
  const [a, b] = [one, other].map((value) => (typeof value === 'number' ? String(value) : value))
  return isSame(a, b) || (typeof a === 'string' && typeof b === 'string' && compareQuantities(a, b) === 0)
}
