import type { DeleteOptions } from '../../operator/kube/kube-client.ts'
import { type KubeObject, keyOf, type OwnerReference, type ResourceType } from '../../operator/kube/kube-object.ts'
import type { ApiServer } from './api-server.ts'
import { FOREGROUND, isTerminating, isWaitingForDependents, ORPHAN } from './deletion.ts'
import { DueKeys } from './due-keys.ts'
import type { Commit, ObjectStore } from './object-store.ts'

const ACTOR = 'garbage-collector'

export interface CollectorParts {
  readonly store: ObjectStore
  readonly server: ApiServer
  /** Runs work after a short delay. */
  readonly later: (work: () => void) => void
}

interface Node {
  readonly type: ResourceType
  readonly key: string
}

/**
 * Deletes objects whose owners are gone, and releases owners that wait for their dependents, like the garbage collector
 * of kube-controller-manager: with a delay, and based on the state at that time.
 */
export class GarbageCollector {
  readonly #parts: CollectorParts
  readonly #nodes = new Map<string, Node>()
  /** UIDs of dependents by the UID of the owner in their owner references, whether that owner exists or not. */
  readonly #dependents = new Map<string, Set<string>>()
  readonly #due: DueKeys

  constructor(parts: CollectorParts) {
    this.#parts = parts
    this.#due = new DueKeys(parts.later, (uid) => this.#attend(uid))
    parts.store.onCommit((commit) => this.#onCommit(commit))
  }

  #onCommit({ type, resource, object, before }: Commit): void {
    const { uid = '', ownerReferences: owners = [] } = object.metadata
    const oldOwners = before?.metadata.ownerReferences ?? []
    if (type === 'ADDED') this.#nodes.set(uid, { type: resource, key: keyOf(object.metadata) })
    if (type === 'DELETED') {
      this.#onDeleted(uid, oldOwners)
      return
    }
    if (owners !== oldOwners) this.#reown(uid, oldOwners, owners)
    if (!isTerminating(object)) return
    const wasTerminating = before !== undefined && isTerminating(before)
    if (!wasTerminating || before?.metadata.finalizers !== object.metadata.finalizers) this.#onTerminating(uid, object)
  }

  #onDeleted(uid: string, owners: readonly OwnerReference[]): void {
    this.#nodes.delete(uid)
    for (const owner of owners) {
      this.#dropDependent(owner.uid, uid)
      this.#look(owner.uid, isWaitingForDependents)
    }
    for (const dependent of this.#dependents.get(uid) ?? []) this.#due.add(dependent)
  }

  #onTerminating(uid: string, { metadata: { finalizers = [] } }: KubeObject): void {
    if (finalizers.includes(ORPHAN)) this.#due.add(uid)
    if (!finalizers.includes(FOREGROUND)) return
    this.#due.add(uid)
    for (const dependent of this.#dependents.get(uid) ?? []) this.#due.add(dependent)
  }

  #reown(uid: string, before: readonly OwnerReference[], after: readonly OwnerReference[]): void {
    for (const owner of before) {
      this.#dropDependent(owner.uid, uid)
      this.#look(owner.uid, isWaitingForDependents)
    }
    for (const owner of after) {
      const dependents = this.#dependents.get(owner.uid)
      if (dependents === undefined) this.#dependents.set(owner.uid, new Set([uid]))
      else dependents.add(uid)
      const found = this.#object(owner.uid)
      if (found === undefined || isWaitingForDependents(found)) this.#due.add(uid)
    }
  }

  #dropDependent(owner: string, uid: string): void {
    const dependents = this.#dependents.get(owner)
    dependents?.delete(uid)
    if (dependents?.size === 0) this.#dependents.delete(owner)
  }

  #look(uid: string, holds: (object: KubeObject) => boolean): void {
    const object = this.#object(uid)
    if (object !== undefined && holds(object)) this.#due.add(uid)
  }

  #attend(uid: string): void {
    const node = this.#nodes.get(uid)
    const object = this.#object(uid)
    if (node === undefined || object === undefined) return
    const { finalizers = [] } = object.metadata
    if (!isTerminating(object)) this.#attendDependent(node, object)
    else if (finalizers.includes(ORPHAN)) this.#orphan(node, object)
    else if (finalizers.includes(FOREGROUND)) this.#attendWaiting(node, object)
  }

  /** An owner that is deleted in the foreground is released when no blocking dependent is left. */
  #attendWaiting(node: Node, object: KubeObject): void {
    const { uid = '' } = object.metadata
    const isBlocked = [...(this.#dependents.get(uid) ?? [])].some((dependent) =>
      this.#object(dependent)?.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion),
    )
    if (!isBlocked) this.#removeFinalizer(node, object, FOREGROUND)
  }

  #orphan(node: Node, object: KubeObject): void {
    const { uid = '' } = object.metadata
    for (const dependent of [...(this.#dependents.get(uid) ?? [])]) {
      const [itsNode, itsObject] = [this.#nodes.get(dependent), this.#object(dependent)]
      if (itsNode !== undefined && itsObject !== undefined)
        this.#disown(itsNode, itsObject, (owner) => owner.uid !== uid)
    }
    this.#removeFinalizer(node, object, ORPHAN)
  }

  #attendDependent(node: Node, object: KubeObject): void {
    const { ownerReferences: owners = [], finalizers = [] } = object.metadata
    if (owners.length === 0) return
    const solid = new Set<OwnerReference>()
    let waits = false
    for (const owner of owners) {
      const found = this.#ownerOf(object, owner)
      if (found === undefined) continue
      if (isWaitingForDependents(found)) waits ||= owner.blockOwnerDeletion === true
      else solid.add(owner)
    }
    if (solid.size === owners.length) return
    const hasDependents = this.#dependents.has(object.metadata.uid ?? '')
    if (solid.size > 0) this.#disown(node, object, (owner) => solid.has(owner))
    else this.#delete(node, object, waits && hasDependents ? 'Foreground' : policyIn(finalizers))
  }

  #ownerOf(dependent: KubeObject, { uid, kind, name }: OwnerReference): KubeObject | undefined {
    const owner = this.#object(uid)
    if (owner === undefined || owner.kind !== kind || owner.metadata.name !== name) return undefined
    const { namespace } = owner.metadata
    return namespace === undefined || namespace === dependent.metadata.namespace ? owner : undefined
  }

  #disown({ type }: Node, { metadata }: KubeObject, keeps: (owner: OwnerReference) => boolean): void {
    const ownerReferences = (metadata.ownerReferences ?? []).filter(keeps)
    this.#parts.server.mergePatch(ACTOR, type, metadata, { metadata: { ownerReferences } })
  }

  #delete({ type }: Node, { metadata }: KubeObject, propagationPolicy: DeleteOptions['propagationPolicy']): void {
    const { uid = '' } = metadata
    this.#parts.server.delete(ACTOR, type, metadata, { uid, ...(propagationPolicy && { propagationPolicy }) })
  }

  #removeFinalizer({ type }: Node, { metadata }: KubeObject, finalizer: string): void {
    const finalizers = (metadata.finalizers ?? []).filter((one) => one !== finalizer)
    this.#parts.server.mergePatch(ACTOR, type, metadata, { metadata: { finalizers } })
  }

  #object(uid: string): KubeObject | undefined {
    const node = this.#nodes.get(uid)
    if (node === undefined || !this.#parts.store.isServed(node.type)) return undefined
    return this.#parts.store.table(node.type).objects.get(node.key)
  }
}

/** Returns the policy that an earlier request set by a finalizer. Default: Background. */
function policyIn(finalizers: readonly string[]): DeleteOptions['propagationPolicy'] {
  if (finalizers.includes(ORPHAN)) return 'Orphan'
  return finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background'
}
