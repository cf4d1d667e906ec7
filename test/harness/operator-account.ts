import { render } from '@open-terrain/constructs'
import { Operator } from '@open-terrain/constructs/platform'
import { isApiError } from '../../operator/kube/api-error.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { find } from '../../operator/kube/find.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { LEASE, NAMESPACE } from '../../operator/kube/resource-types.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { persist } from './persist.ts'

const RIGHTS: readonly ResourceType[] = [
  ['ClusterRole', 'clusterroles', false],
  ['ClusterRoleBinding', 'clusterrolebindings', false],
  ['Role', 'roles', true],
  ['RoleBinding', 'rolebindings', true],
].map(([kind, plural, namespaced]) => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: String(kind),
  plural: String(plural),
  namespaced: namespaced === true,
}))

/**
 * Returns the kubeconfig of the operator's ServiceAccount in this namespace, with the permissions of its installation manifest. An
 * operator in another namespace of the same cluster loses them.
 */
export async function operatorAccount(cluster: Cluster, client: KubeClient, namespace: string): Promise<string> {
  const objects = render((chart) => new Operator(chart, 'Operator', { image: 'operator', namespace })) as KubeObject[]
  for (const type of RIGHTS) {
    for (const object of objects.filter((one) => one.kind === type.kind)) await ensure(client, type, object)
  }
  const account = `system:serviceaccount:${namespace}:open-terrain-operator`
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
  const { path } = await cluster.controlPlane.addUser(account, groups)
  await untilGranted(path, namespace)
  return path
}

async function ensure(client: KubeClient, type: ResourceType, object: KubeObject): Promise<void> {
  try {
    await client.create(type, object)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    // Patches instead of recreating, so that permissions are never missing in between.
    await client.mergePatch(type, object.metadata, object)
  }
}

/** The API server's authorizer sees new permissions a moment later, those of Roles and ClusterRoles by separate watches. */
async function untilGranted(kubeconfig: string, namespace: string): Promise<void> {
  const connection = Connection.fromEnvironment(1, kubeconfig)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-scenario' })
  try {
    await persist('the operator has its rights', ['Rejected'], async () => {
      await client.list(NAMESPACE, { limit: 1 })
      await find(client, LEASE, { namespace, name: 'sync-operator' })
    })
  } finally {
    await connection.close()
  }
}
