import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { NAMESPACE } from '../../operator/kube/resource-types.ts'
import type { ApiServer } from './api-server.ts'
import { isTerminating } from './deletion.ts'
import { dueAfterCommits } from './due-keys.ts'
import type { Commit, ObjectStore } from './object-store.ts'

const ACTOR = 'namespace-controller'

export interface NamespaceControllerParts {
  readonly store: ObjectStore
  readonly server: ApiServer
  /** Runs work after a short delay. */
  readonly later: (work: () => void) => void
}

/** Empties terminating namespaces, and finalizes them when they are empty. */
export class NamespaceController {
  readonly #parts: NamespaceControllerParts
  readonly #terminating = new Set<string>()

  constructor(parts: NamespaceControllerParts) {
    this.#parts = parts
    dueAfterCommits(
      parts,
      (commit) => this.#namesOf(commit),
      (name) => this.#empty(name),
    )
  }

  #namesOf({ type, resource, object }: Commit): readonly string[] {
    const { name, namespace } = object.metadata
    if (resource.plural !== NAMESPACE.plural || resource.group !== NAMESPACE.group) {
      return type === 'DELETED' && namespace !== undefined && this.#terminating.has(namespace) ? [namespace] : []
    }
    if (type === 'DELETED') this.#terminating.delete(name)
    if (type === 'DELETED' || !isTerminating(object)) return []
    this.#terminating.add(name)
    return [name]
  }

  #empty(name: string): void {
    const { store, server } = this.#parts
    const namespace = store.table(NAMESPACE).objects.get(name)
    if (namespace === undefined || !isTerminating(namespace)) return
    for (const { type, objects } of [...store.tables()]) {
      if (!type.namespaced) continue
      for (const { metadata } of within(objects.values(), name)) {
        if (metadata.deletionTimestamp !== undefined) continue
        server.delete(ACTOR, type, metadata, { propagationPolicy: 'Background' })
      }
    }
    const isEmpty = [...store.tables()].every(({ objects }) => within(objects.values(), name).length === 0)
    if (isEmpty && hasSpecFinalizers(namespace)) server.finalizeNamespace(ACTOR, namespace)
  }
}

function within(objects: Iterable<KubeObject>, namespace: string): KubeObject[] {
  const found = [...objects].filter(({ metadata }) => metadata.namespace === namespace)
  return found.sort((a, b) => (keyOf(a.metadata) < keyOf(b.metadata) ? -1 : 1))
}

function hasSpecFinalizers(namespace: KubeObject): boolean {
  const { spec } = namespace as KubeObject & { readonly spec?: { readonly finalizers?: readonly string[] } }
  return (spec?.finalizers?.length ?? 0) > 0
}
