import type { KubeObject } from '../kube/kube-object.ts'

/** What can be done in a namespace. */
export type NamespaceState = 'there' | 'missing' | 'terminating'

/** @param namespace as its cache has it */
export function namespaceState(namespace: KubeObject | undefined): NamespaceState {
  if (namespace === undefined) return 'missing'
  return namespace.metadata.deletionTimestamp === undefined ? 'there' : 'terminating'
}
