import { isTerminating, type KubeObject } from '../kube/kube-object.ts'

/** Whether a namespace can be used. */
export type NamespaceState = 'there' | 'missing' | 'terminating'

/** @param namespace as in its cache */
export function namespaceState(namespace: KubeObject | undefined): NamespaceState {
  if (namespace === undefined) return 'missing'
  return isTerminating(namespace) ? 'terminating' : 'there'
}
