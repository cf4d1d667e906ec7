import { renderInstallation } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { type Cluster, OPERATOR_NAMESPACE } from '../../sandbox/control-plane/cluster.ts'
import { CONTROLLERS } from '../../sandbox/control-plane/control-plane.ts'
import { ApiUser } from './api-user.ts'
import { useOwnCluster } from './cluster.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const OURS = '/apis/pelotech.ot/v1alpha1'

export type Plural = 'vmdiskimages' | 'virtualmachines' | 'datasyncs' | 'workspaces'

export const pathOf = (namespace: string, plural: Plural, name = ''): string =>
  `${OURS}/${plural === 'workspaces' ? '' : `namespaces/${namespace}/`}${plural}${name === '' ? '' : `/${name}`}`

/** Paths of the collections of the kinds that we install. */
const COLLECTIONS: Readonly<Record<string, (namespace: string | undefined) => string>> = {
  ClusterRole: () => `${RBAC}/clusterroles`,
  ClusterRoleBinding: () => `${RBAC}/clusterrolebindings`,
  Role: (namespace) => `${RBAC}/namespaces/${namespace}/roles`,
  RoleBinding: (namespace) => `${RBAC}/namespaces/${namespace}/rolebindings`,
  ValidatingAdmissionPolicy: () => `${ADMISSION}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: () => `${ADMISSION}/validatingadmissionpolicybindings`,
}

/** Creates the RBAC and admission policy objects among `objects`. */
export async function install(admin: ApiUser, objects: readonly object[]): Promise<void> {
  for (const object of objects as readonly KubeObject[]) {
    const collection = COLLECTIONS[object.kind]?.(object.metadata.namespace)
    if (collection !== undefined) await admin.must('POST', collection, object)
  }
}

/** A cluster without operator or simulators, with the RBAC and admission policies of an installation. */
export class AdmissionCluster {
  readonly #cluster: () => Cluster
  readonly #users: ApiUser[] = []
  #admin: ApiUser | undefined

  constructor(cluster: () => Cluster) {
    this.#cluster = cluster
  }

  get admin(): ApiUser {
    if (this.#admin === undefined) throw new Error('the cluster has not started yet')
    return this.#admin
  }

  async start(): Promise<void> {
    this.#admin = new ApiUser(this.#cluster().controlPlane.kubeconfigPath)
    this.#users.push(this.#admin)
    const { access, operator } = renderInstallation({ image: 'operator' })
    await install(this.#admin, [...operator, ...access])
  }

  async stop(): Promise<void> {
    await Promise.all(this.#users.map((user) => user[Symbol.asyncDispose]()))
  }

  async addNamespace(name: string): Promise<void> {
    await this.admin.must('POST', '/api/v1/namespaces', { metadata: { name } })
  }

  /** Adds a user with ClusterRoles by namespace, and no other permissions. */
  async addUser(
    name: string,
    roles: Readonly<Record<string, readonly string[]>>,
    groups: string[] = [],
  ): Promise<ApiUser> {
    for (const [namespace, names] of Object.entries(roles)) {
      for (const role of names)
        await this.admin.must('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, binding(name, role))
    }
    const { path } = await this.#cluster().controlPlane.addUser(name, groups)
    const user = new ApiUser(path)
    this.#users.push(user)
    return user
  }

  /** Binds a ClusterRole in all namespaces and for cluster-scoped objects. */
  async bindEverywhere(user: string, role: string): Promise<void> {
    await this.admin.must('POST', `${RBAC}/clusterrolebindings`, binding(user, role))
  }

  async addClusterRole(name: string, rules: readonly object[]): Promise<void> {
    await this.admin.must('POST', `${RBAC}/clusterroles`, { metadata: { name }, rules })
  }

  /** Replaces the policy ConfigMap. Undefined removes it. */
  async setPolicy(data: Readonly<Record<string, string>> | undefined): Promise<void> {
    const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps`
    const { status } = await this.admin.ask('DELETE', `${path}/sync-operator-policy`)
    if (status !== 200 && status !== 404) throw new Error(`the policy cannot be deleted: ${status}`)
    if (data !== undefined) await this.admin.must('POST', path, { metadata: { name: 'sync-operator-policy' }, data })
  }
}

function binding(user: string, role: string): object {
  return {
    metadata: { generateName: `${role}-` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  }
}

/** A control plane for one test file, because admission rules apply to the whole cluster. */
export function useAdmissionCluster(): AdmissionCluster {
  const cluster = useOwnCluster({ controllers: [...CONTROLLERS, 'clusterrole-aggregation-controller'] })
  const admission = new AdmissionCluster(cluster)
  beforeAll(() => admission.start())
  afterAll(() => admission.stop())
  return admission
}
