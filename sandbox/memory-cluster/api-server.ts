import type { DeleteOptions, ListOptions, ListPage } from '../../operator/kube/kube-client.ts'
import {
  apiVersionOf,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type ObjectMeta,
  type ResourceType,
} from '../../operator/kube/kube-object.ts'
import { JOB, NAMESPACE, POD } from '../../operator/kube/resource-types.ts'
import { afterDelete, isOver, isTerminating, type StoredMeta, timestampOf } from './deletion.ts'
import {
  alreadyExists,
  badRequest,
  conflict,
  internalError,
  invalid,
  namespaceTerminating,
  noSubresource,
  notFound,
  notServed,
} from './errors.ts'
import type { Job } from './job-objects.ts'
import { isSameJson, mergePatched } from './json.ts'
import type { ObjectStore, Table } from './object-store.ts'
import { matcherOf } from './selectors.ts'
import type { Traits } from './served-types.ts'

export interface ApiServerOptions {
  readonly store: ObjectStore
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number
  /** What webhooks say about a new object, before anybody knows whether its name is taken. Throws an ApiError to reject it. */
  readonly review: (type: ResourceType, object: KubeObject) => void
  /** What webhooks say about a change of the main resource. Throws an ApiError to reject it. */
  readonly reviewChange: (type: ResourceType, before: KubeObject, after: KubeObject) => void
  /** What admission adds to a new object. */
  readonly complete: (type: ResourceType, object: KubeObject) => KubeObject
  /** Admission of a new, complete object. Throws an ApiError to reject it. */
  readonly admit: (type: ResourceType, object: KubeObject) => void
}

/**
 * Handles requests as kube-apiserver does, each at one instant. Throws the ApiErrors that it returns. Checks no
 * schemas, and defaults only the few fields that something relies on.
 */
export class ApiServer {
  readonly #store: ObjectStore
  readonly #now: () => number
  readonly #review: ApiServerOptions['review']
  readonly #reviewChange: ApiServerOptions['reviewChange']
  readonly #complete: ApiServerOptions['complete']
  readonly #admit: ApiServerOptions['admit']
  #uids = 0

  constructor({ store, now, review, reviewChange, complete, admit }: ApiServerOptions) {
    this.#store = store
    this.#now = now
    this.#review = review
    this.#reviewChange = reviewChange
    this.#complete = complete
    this.#admit = admit
  }

  get(type: ResourceType, key: ObjectKey): KubeObject {
    return existing(this.#store.table(type), key)
  }

  list(type: ResourceType, options: ListOptions = {}): ListPage<KubeObject> {
    const table = this.#store.table(type)
    const from = startOf(options, this.#store.revision)
    const matches = matcherOf(type, options)
    const isPresent = from.revision === this.#store.revision
    const stored = isPresent ? table.objects : table.at(from.revision)
    const selected = [...stored]
      .filter(([key, object]) => key > from.after && matches(object))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object)
    const { limit = 0, metadataOnly } = options
    const page = limit > 0 ? selected.slice(0, limit) : selected
    const items = metadataOnly ? page.map(metadataOf) : page
    const resourceVersion = String(from.revision)
    const last = page.at(-1)
    if (last === undefined || page.length === selected.length) return { items, resourceVersion }
    return {
      items,
      resourceVersion,
      continueToken: JSON.stringify({ revision: from.revision, after: keyOf(last.metadata) }),
    }
  }

  create(actor: string, type: ResourceType, object: KubeObject): KubeObject {
    if (type.kind === 'Binding') return this.#bind(actor, object)
    const table = this.#store.table(type)
    this.#checkNamespace(type, object.metadata)
    const key = keyOf(keyFor(type, object.metadata))
    if (object.metadata.resourceVersion !== undefined)
      throw internalError('resourceVersion should not be set on objects to be created')
    this.#review(table.type, object)
    if (table.objects.has(key)) throw alreadyExists(type, object.metadata.name)
    const { labels, annotations, finalizers, ownerReferences } = object.metadata
    this.#uids += 1
    const metadata: ObjectMeta = {
      ...keyFor(type, object.metadata),
      uid: uidNumber(this.#uids),
      creationTimestamp: this.#timestamp(),
      ...(table.traits.hasGeneration && { generation: 1 }),
      ...filled({ labels, annotations, finalizers, ownerReferences }),
    }
    const typed = { ...object, apiVersion: apiVersionOf(type), kind: type.kind, metadata }
    const defaulted = table.traits.complete(table.traits.hasStatus ? withoutStatus(typed) : typed)
    const complete = this.#complete(table.type, defaulted)
    this.#admit(table.type, complete)
    return this.#store.put(actor, table, complete)
  }

  replace(actor: string, type: ResourceType, object: KubeObject): KubeObject {
    const table = this.#store.table(type)
    const before = existing(table, object.metadata)
    checkUid(type, before, object.metadata.uid)
    checkVersion(type, before, object.metadata.resourceVersion)
    return this.#update(actor, table, before, object)
  }

  replaceStatus(actor: string, type: ResourceType, object: KubeObject): KubeObject {
    const table = this.#store.table(type)
    if (!table.traits.hasStatus) throw noSubresource()
    const before = existing(table, object.metadata)
    checkUid(type, before, object.metadata.uid)
    checkVersion(type, before, object.metadata.resourceVersion)
    const { status } = object as KubeObject & { readonly status?: unknown }
    const after = { ...before, status, metadata: statusMetadata(type, before.metadata, object.metadata) }
    return isSameJson(before, after) ? before : this.#store.put(actor, table, after)
  }

  mergePatch(actor: string, type: ResourceType, key: ObjectKey, patch: object): KubeObject {
    const table = this.#store.table(type)
    const before = existing(table, key)
    const patched = mergePatched(before, patch) as KubeObject
    checkVersion(type, before, patched.metadata.resourceVersion)
    checkSameUid(type, before, patched.metadata.uid)
    return this.#update(actor, table, before, patched)
  }

  delete(actor: string, type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): void {
    const table = this.#store.table(type)
    const before = existing(table, key)
    checkPreconditions(type, before, options)
    const after = afterDelete(table.traits, before, options, this.#now())
    if (isOver(after)) this.#store.remove(actor, table, before)
    else if (!isSameJson(before, after)) this.#store.put(actor, table, after)
  }

  /** Puts a pod on a node. Nothing else can do that. */
  #bind(actor: string, binding: Binding): KubeObject {
    const table = this.#store.table(POD)
    const before = existing(table, binding.metadata) as BoundPod
    const { uid } = binding.metadata
    if (uid !== undefined) checkSameUid(POD, before, uid)
    const { nodeName, schedulingGates = [] } = before.spec
    if (isTerminating(before) || nodeName !== undefined || schedulingGates.length > 0)
      throw conflict(POD, before.metadata.name)
    const spec = { ...before.spec, nodeName: binding.target?.name }
    this.#store.put(actor, table, { ...before, spec } as KubeObject)
    return binding
  }

  /** Clears `spec.finalizers`, the last step of the namespace controller. The namespace can then be removed. */
  finalizeNamespace(actor: string, namespace: KubeObject): void {
    const table = this.#store.table(NAMESPACE)
    const after = { ...namespace, spec: {} }
    if (isOver(after)) this.#store.remove(actor, table, namespace)
    else this.#store.put(actor, table, after)
  }

  /** Writes the main resource as requested, except for the fields that a writer cannot change. */
  #update(actor: string, table: Table, before: KubeObject, wanted: KubeObject): KubeObject {
    const { type, traits } = table
    const { labels, annotations, finalizers, ownerReferences } = wanted.metadata
    const { labels: _l, annotations: _a, finalizers: _f, ownerReferences: _o, ...fixed } = before.metadata
    const metadata: StoredMeta = { ...fixed, ...filled({ labels, annotations, finalizers, ownerReferences }) }
    checkFinalizers(type, before.metadata, metadata)
    checkTemplate(type, before, wanted)
    const { apiVersion, kind } = before
    const after = { ...(traits.hasStatus ? withStatusOf(before, wanted) : wanted), apiVersion, kind, metadata }
    if (isOver(after)) {
      this.#store.remove(actor, table, before)
      return after
    }
    if (isSameJson(before, after)) return before
    this.#reviewChange(type, before, after)
    const isCounted = traits.hasGeneration && !isSameSpec(traits, before, after)
    const generation = (before.metadata.generation ?? 0) + 1
    return this.#store.put(actor, table, isCounted ? { ...after, metadata: { ...metadata, generation } } : after)
  }

  #checkNamespace(type: ResourceType, { name, namespace }: ObjectMeta): void {
    if (!type.namespaced) return
    if (namespace === undefined) throw notServed(type)
    const found = this.#store.table(NAMESPACE).objects.get(namespace)
    if (found === undefined) throw notFound(NAMESPACE, namespace)
    if (isTerminating(found)) throw namespaceTerminating(type, name, namespace)
  }

  #timestamp(): string {
    return timestampOf(this.#now())
  }
}

interface Binding extends KubeObject {
  readonly target?: { readonly name: string }
}

interface BoundPod extends KubeObject {
  readonly spec: { readonly nodeName?: string; readonly schedulingGates?: readonly object[] }
}

/** Returns PartialObjectMetadata with the apiVersion and kind of the object, as the client returns it. */
export function metadataOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  return Object.freeze({ apiVersion, kind, metadata })
}

function existing(table: Table, { namespace, name }: ObjectKey): KubeObject {
  const found = table.objects.get(table.type.namespaced ? `${namespace}/${name}` : name)
  if (found === undefined) throw notFound(table.type, name)
  return found
}

function keyFor({ namespaced }: ResourceType, { namespace, name }: ObjectKey): ObjectKey {
  return namespaced && namespace !== undefined ? { name, namespace } : { name }
}

function startOf({ continueToken }: ListOptions, revision: number): { revision: number; after: string } {
  if (continueToken === undefined) return { revision, after: '' }
  try {
    return JSON.parse(continueToken) as { revision: number; after: string }
  } catch {
    throw badRequest('invalid continue token: continue key is not valid')
  }
}

/** Different in the first part and in the last, as those who shorten uids expect. */
function uidNumber(count: number): string {
  const first = (Math.imul(count, 0x9e37_79b1) >>> 0).toString(16).padStart(8, '0')
  return `${first}-0000-4000-8000-${count.toString(16).padStart(12, '0')}`
}

type Writable = Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers' | 'ownerReferences'>

/** Drops empty fields, as the server does. */
function filled(metadata: { readonly [K in keyof Writable]: Writable[K] | undefined }): Writable {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== undefined && Object.keys(value).length > 0),
  )
}

type WithStatus = KubeObject & { readonly status?: unknown }

function withoutStatus(object: KubeObject): KubeObject {
  const { status: _dropped, ...rest } = object as WithStatus
  return rest
}

function withStatusOf(before: KubeObject, wanted: KubeObject): KubeObject {
  const { status } = before as WithStatus
  return { ...withoutStatus(wanted), ...(status !== undefined && { status }) } as KubeObject
}

/** A write of a pod's status also writes its metadata. Multus and kubelets rely on that. */
function statusMetadata(type: ResourceType, before: ObjectMeta, wanted: ObjectMeta): ObjectMeta {
  if (type !== POD) return before
  const { labels, annotations, finalizers } = wanted
  const { labels: _l, annotations: _a, finalizers: _f, ...rest } = before
  const metadata = { ...rest, ...filled({ labels, annotations, finalizers, ownerReferences: undefined }) }
  checkFinalizers(type, before, metadata)
  return metadata
}

function isSameSpec({ hasStatus }: Traits, before: KubeObject, after: KubeObject): boolean {
  const rest = ({ metadata: _m, ...object }: KubeObject) => (hasStatus ? withoutStatus(object as KubeObject) : object)
  return isSameJson(rest(before), rest(after))
}

function checkVersion(type: ResourceType, before: KubeObject, resourceVersion: string | undefined): void {
  if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion) {
    throw conflict(type, before.metadata.name)
  }
}

function checkUid(type: ResourceType, before: KubeObject, uid: string | undefined): void {
  if (uid === undefined || uid === before.metadata.uid) return
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`
  throw conflict(type, before.metadata.name, why)
}

/** In a patch, a different UID is an attempt to change the UID, not a precondition. */
function checkSameUid(type: ResourceType, before: KubeObject, uid: string | undefined): void {
  if (uid === undefined || uid === before.metadata.uid) return
  const why = `metadata.uid: Invalid value: ${JSON.stringify(uid)}: field is immutable`
  throw invalid(type, before.metadata.name, why, 'FieldValueInvalid')
}

function checkPreconditions(type: ResourceType, { metadata }: KubeObject, wanted: DeleteOptions): void {
  if (wanted.uid !== undefined && wanted.uid !== metadata.uid) {
    const why = `the UID in the precondition (${wanted.uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`
    throw conflict(type, metadata.name, why)
  }
  if (wanted.resourceVersion !== undefined && wanted.resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${wanted.resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
    throw conflict(type, metadata.name, why)
  }
}

/** What a Job runs does not change. The server lets the choice of nodes of a Job change that never started, which nobody here does. */
function checkTemplate(type: ResourceType, before: KubeObject, wanted: KubeObject): void {
  if (type !== JOB) return
  const templateOf = (object: KubeObject) => (object as Job).spec.template
  if (isSameJson(templateOf(before), templateOf(wanted))) return
  const why = `spec.template: Invalid value: ${JSON.stringify(templateOf(wanted))}: field is immutable`
  throw invalid(type, before.metadata.name, why, 'FieldValueInvalid')
}

function checkFinalizers(type: ResourceType, before: ObjectMeta, after: ObjectMeta): void {
  if (before.deletionTimestamp === undefined) return
  const added = (after.finalizers ?? []).filter((finalizer) => !before.finalizers?.includes(finalizer))
  if (added.length === 0) return
  const names = added.map((finalizer) => JSON.stringify(finalizer)).join(', ')
  const why = `metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`
  throw invalid(type, before.name, why, 'FieldValueForbidden')
}
