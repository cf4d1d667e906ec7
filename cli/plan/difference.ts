import { ANNOTATIONS } from '@open-terrain/constructs'
import { isSameAmount } from '@open-terrain/constructs/operator'
import { isRecord, isSame } from '../../operator/base/equality.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'

/** What a plan would do to one object of a cluster. */
export interface Difference {
  readonly effect: 'create' | 'change' | 'keep' | 'none' | 'delete'
  /** Fields that would be other ones, such as `spec.replicas`. */
  readonly fields: readonly string[]
  /** Those of them that would be gone. Absent: none. */
  readonly removed?: readonly string[]
}

/** What exists is used as it is: the operator never changes what has data, or what a download has made. */
const USED_AS_THEY_ARE: ReadonlySet<string> = new Set([
  'DataVolume',
  'VolumeSnapshot',
  'PersistentVolume',
  'PersistentVolumeClaim',
])

/**
 * Compares what the operator wants with what there is. Fields that others have added do not count: a plan says nothing of them. Nor do those of a Secret:
 * it is known by the marks of its content alone.
 * @param live undefined: there is none
 * @param extent `whole`: what is not wanted in the content is gone, as of an object that somebody writes; `wanted`: it stays
 */
export function differenceOf(
  wanted: KubeObject,
  live: KubeObject | undefined,
  extent: 'wanted' | 'whole' = 'wanted',
): Difference {
  if (live === undefined) return { effect: 'create', fields: [] }
  const mark = wanted.metadata.annotations?.[ANNOTATIONS.rendered]
  // The mark is a hash of all that was rendered.
  if (mark !== undefined && mark === live.metadata.annotations?.[ANNOTATIONS.rendered])
    return { effect: 'none', fields: [] }
  const { metadata, ...content } = wanted
  const { labels = {}, annotations = {} } = metadata
  const compared = wanted.kind === 'Secret' ? {} : content
  const fields = [
    ...fieldsApart({ labels, annotations }, live.metadata, 'metadata'),
    ...Object.entries(compared).flatMap(([key, value]) => fieldsApart(value, member(live, key), key)),
  ]
  const removed =
    extent === 'wanted'
      ? []
      : Object.entries(compared).flatMap(([key, value]) => fieldsGone(value, member(live, key), key))
  if (fields.length === 0 && removed.length === 0) return { effect: 'none', fields }
  const effect = USED_AS_THEY_ARE.has(wanted.kind) ? 'keep' : 'change'
  return { effect, fields: [...fields, ...removed], ...(removed.length > 0 && { removed }) }
}

/** Returns the wanted fields that are others in what there is, each as deep as it is known. Items of lists are compared in their order. */
function fieldsApart(wanted: unknown, actual: unknown, path: string): string[] {
  if (isAbsent(wanted) || isSame(wanted, actual) || isSameQuantity(wanted, actual)) return []
  // The API server leaves out what is empty.
  if (isAbsent(actual) && isEmpty(wanted)) return []
  if (Array.isArray(wanted) && Array.isArray(actual) && wanted.length === actual.length)
    return wanted.flatMap((one, at) => fieldsApart(one, actual[at], `${path}[${at}]`))
  if (!isRecord(wanted) || !isRecord(actual)) return [path]
  return Object.entries(wanted).flatMap(([key, value]) => fieldsApart(value, actual[key], `${path}.${key}`))
}

/** Returns the fields that there are, and that are not wanted. */
function fieldsGone(wanted: unknown, actual: unknown, path: string): string[] {
  if (isAbsent(actual)) return []
  if (isAbsent(wanted)) return isEmpty(actual) ? [] : [path]
  if (Array.isArray(wanted) && Array.isArray(actual) && wanted.length === actual.length)
    return actual.flatMap((one, at) => fieldsGone(wanted[at], one, `${path}[${at}]`))
  if (!isRecord(wanted) || !isRecord(actual)) return []
  return Object.entries(actual).flatMap(([key, value]) => fieldsGone(wanted[key], value, `${path}.${key}`))
}

function member(object: object, key: string): unknown {
  return (object as Readonly<Record<string, unknown>>)[key]
}

/** Somebody who writes null has left the field out. */
function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

function isSameQuantity(wanted: unknown, actual: unknown): boolean {
  return typeof wanted === 'string' && typeof actual === 'string' && isSameAmount(wanted, actual)
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
