import type { ResourceType } from '../operator/kube/kube-object.ts'

/** Kubernetes kinds that the sandbox has and the operator never reads. */
export const NODE: ResourceType = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
export const SERVICE_ACCOUNT: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
}
export const REPLICA_SET: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  namespaced: true,
}
