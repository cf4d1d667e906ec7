/**
 * Types of Kubernetes objects on the wire. Nothing here depends on a client library. Objects are kept as the JSON that the API server sent,
 * because typed serializers drop unknown fields.
 */

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  /** Opaque until Kubernetes 1.35; comparable as a decimal number since then (KEP-5504). */
  readonly resourceVersion?: string
  readonly generation?: number
  /** RFC 3339, whole seconds. */
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

/** One entry of `metadata.managedFields`: who wrote which fields, and when. */
interface ManagedFields {
  readonly manager?: string
  /** RFC 3339, whole seconds. */
  readonly time?: string
  readonly subresource?: string
  readonly fieldsV1?: Readonly<Record<string, object>> & {
    readonly 'f:metadata'?: { readonly 'f:annotations'?: object }
  }
}

/** Returns who wrote which fields, of an object as the API server sent it: what is kept of objects does not have it. */
export function managedFieldsOf(metadata: ObjectMeta): readonly ManagedFields[] {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly ManagedFields[] }
  return managedFields
}

/** Any object, as JSON. Kinds add `spec`, `status`, `data` and so on. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** Part of an object as the API server sent it. Anything may be missing, regardless of the schema. */
// biome-ignore lint/suspicious/noExplicitAny: this is the edge where JSON of others is read, field by field
export type Raw = any

/** A kind of object and where the API server serves it. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Lower-case plural, as in the URL. */
  readonly plural: string
  readonly namespaced: boolean
}

/** Names one object of one kind. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

/** One shared string per kind: there are tens of thousands of objects. */
const apiVersions = new WeakMap<ResourceType, string>()

export function apiVersionOf(type: ResourceType): string {
  const known = apiVersions.get(type)
  if (known !== undefined) return known
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
  apiVersions.set(type, apiVersion)
  return apiVersion
}

/** Returns the API group of an apiVersion; empty for the core group. A kind is the same in all versions of its group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')))
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of caches, queues and logs. */
export function keyOf(key: ObjectKey): string {
  // Uses join instead of `+`: V8 keeps the concatenation tree in addition to the flattened string, and there are many keys.
  return key.namespace === undefined ? key.name : [key.namespace, key.name].join('/')
}

/** Returns the namespace in a key from {@link keyOf}; empty for cluster-scoped objects. */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}

/** Returns the parts of `<namespace>/<name>`. Of a name alone, the namespace is empty. */
export function objectKeyOf(key: string): { readonly namespace: string; readonly name: string } {
  const namespace = namespaceOf(key)
  return { namespace, name: key.slice(namespace === '' ? 0 : namespace.length + 1) }
}

/**
 * Compares two resourceVersions of one API group and kind. Returns a negative number, zero or a positive number if `a` is older, equal or newer.
 * They are decimal strings of any length, compared without loss of precision.
 */
export function compareResourceVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}

export function isTerminating(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined
}
