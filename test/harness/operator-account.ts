import { render } from '@open-terrain/constructs'
import { AdmissionPolicies, Operator } from '@open-terrain/constructs/platform'
import { isApiError } from '../../operator/kube/api-error.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { find } from '../../operator/kube/find.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { LEASE, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { ApiUser } from './api-user.ts'
import { ignoreNotFound } from './grounds.ts'
import { persist } from './persist.ts'

const RBAC = 'rbac.authorization.k8s.io'
const ADMISSION = 'admissionregistration.k8s.io'

/** What gives the operator its rights and its priority, after what confines it. */
const RIGHTS: readonly ResourceType[] = [
  [ADMISSION, 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', false],
  [ADMISSION, 'ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', false],
  ['flowcontrol.apiserver.k8s.io', 'FlowSchema', 'flowschemas', false],
  [RBAC, 'ClusterRole', 'clusterroles', false],
  [RBAC, 'ClusterRoleBinding', 'clusterrolebindings', false],
  [RBAC, 'Role', 'roles', true],
  [RBAC, 'RoleBinding', 'rolebindings', true],
].map(([group, kind, plural, namespaced]) => ({
  group: String(group),
  version: 'v1',
  kind: String(kind),
  plural: String(plural),
  namespaced: namespaced === true,
}))

/** A cluster that knows whom it gave a kubeconfig. */
interface Issuer {
  readonly controlPlane: { addUser(name: string, groups: readonly string[]): Promise<{ readonly path: string }> }
}

/** What was given last, and to which namespace, by the clusters that keep it. */
const KEPT = new WeakMap<Issuer, { namespace: string; kubeconfig: string } | undefined>()

/**
 * From now on, this cluster keeps the last account from world to world. Before an API server knows new rights and has compiled what confines them,
 * most of the time of a short scenario is over.
 */
export function keepAccount(cluster: Issuer): void {
  KEPT.set(cluster, undefined)
}

/** The account that the last world of this cluster left, if the cluster keeps it. */
export function keptAccount(cluster: Issuer): { readonly namespace: string; readonly kubeconfig: string } | undefined {
  return KEPT.get(cluster)
}

/** Whether this namespace has the account that the cluster keeps. It is not deleted with its world. */
export function isKept(cluster: Issuer, namespace: string): boolean {
  return KEPT.get(cluster)?.namespace === namespace
}

/**
 * Returns the kubeconfig of the operator's ServiceAccount in this namespace, with the permissions of its installation manifest, confined
 * as there. An operator in another namespace of the same cluster loses them.
 */
export async function operatorAccount(cluster: Issuer, client: KubeClient, namespace: string): Promise<string> {
  for (const [type, object] of rightsIn(namespace)) await ensure(client, type, object)
  const account = `system:serviceaccount:${namespace}:open-terrain-operator`
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
  const { path } = await cluster.controlPlane.addUser(account, groups)
  await untilGranted(path, namespace)
  await untilConfined(path)
  if (KEPT.has(cluster)) KEPT.set(cluster, { namespace, kubeconfig: path })
  return path
}

/** Removes what confines the operator of this namespace. It knows no operator but that one: others could not create what only an operator may. */
export async function removeConfinement(client: KubeClient, namespace: string): Promise<void> {
  for (const [type, { metadata }] of rightsIn(namespace).toReversed())
    if (type.group === ADMISSION) await client.delete(type, metadata).catch(ignoreNotFound)
}

function rightsIn(namespace: string): (readonly [ResourceType, KubeObject])[] {
  const objects = render((chart) => {
    new AdmissionPolicies(chart, 'AdmissionPolicies', { namespace })
    new Operator(chart, 'Operator', { image: 'operator', namespace })
  }).filter((object) => !isForAuthors(object as KubeObject)) as KubeObject[]
  return RIGHTS.flatMap((type) => objects.filter(({ kind }) => kind === type.kind).map((one) => [type, one] as const))
}

/** The rules for what people write are tried apart. Those for the pods of Workspaces apply to what the operator makes. */
function isForAuthors({ metadata: { name } }: KubeObject): boolean {
  return ['open-terrain-image-use', 'open-terrain-disk-image-use', 'open-terrain-source-url'].includes(name)
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

/** Nothing shows when an admission policy takes effect. */
async function untilConfined(kubeconfig: string): Promise<void> {
  await using operator = new ApiUser(kubeconfig)
  const anyNamespace = { metadata: { name: 'not-of-a-workspace' } }
  await operator.askUntil(
    /the operator creates namespaces of Workspaces/,
    'POST',
    '/api/v1/namespaces?dryRun=All',
    anyNamespace,
  )
}
