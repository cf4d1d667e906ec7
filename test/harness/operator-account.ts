import { render } from '@open-terrain/constructs'
import { Operator } from '@open-terrain/constructs/platform'
import { isApiError } from '../../operator/kube/api-error.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { MACHINE } from './kinds.ts'
import { persist } from './persist.ts'
import type { World } from './world.ts'

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
 * The kubeconfig of the operator's ServiceAccount, with the rights of the manifest that it is installed from. What an earlier
 * world of the same cluster left of them is replaced.
 */
export async function operatorAccount(world: World): Promise<string> {
  const namespace = world.operatorNamespace
  const objects = render((chart) => new Operator(chart, 'Operator', { image: 'operator', namespace })) as KubeObject[]
  for (const type of RIGHTS) {
    for (const object of objects.filter((one) => one.kind === type.kind)) await replace(world, type, object)
  }
  const account = `system:serviceaccount:${namespace}:open-terrain-operator`
  const { path } = await world.cluster.controlPlane.addUser(account, ['system:serviceaccounts'])
  await untilGranted(path)
  return path
}

async function replace({ client }: World, type: ResourceType, object: KubeObject): Promise<void> {
  try {
    await client.create(type, object)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    await client.delete(type, object.metadata)
    await client.create(type, object)
  }
}

/** The API server's authorizer hears of new rights a moment later. */
async function untilGranted(kubeconfig: string): Promise<void> {
  const connection = Connection.fromEnvironment(1, kubeconfig)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-scenario' })
  try {
    await persist('the operator has its rights', ['Rejected'], () => client.list(MACHINE, { limit: 1 }))
  } finally {
    await connection.close()
  }
}
