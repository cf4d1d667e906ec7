import { type PolicyValues, renderInstallation } from '@open-terrain/constructs/platform'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONTROLLERS, ControlPlane, type ControlPlaneOptions } from './control-plane.ts'
import { type ForeignCrds, foreignCrds } from './foreign-crds.ts'
import { ourCrds } from './install.ts'

export const OPERATOR_NAMESPACE = 'sync-operator'

export interface ClusterOptions extends Omit<ControlPlaneOptions, 'crds'> {
  /** Only our small CRDs of the systems underneath. Default: the real ones where they are present. */
  readonly foreign?: 'own'
  /** Default: that of the operator. */
  readonly namespaces?: readonly string[]
  /** Also the namespaces, roles and admission policies of an installation. Default: false; nothing but the CRDs refuses anything then. */
  readonly access?: boolean
  /** Also the policy ConfigMap of an installation, with these values. Default: none. */
  readonly policy?: PolicyValues
}

/** A control plane that is ready for the operator: our CRDs, those of the systems underneath, and the namespaces. */
export interface Cluster extends AsyncDisposable {
  readonly controlPlane: ControlPlane
  readonly foreign: ForeignCrds
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { foreign: only, namespaces = [OPERATOR_NAMESPACE], access = false, policy, ...rest } = options
  const [ours, foreign] = await Promise.all([ourCrds(), foreignCrds(only === undefined ? {} : { only })])
  // Our rights become part of the `view`, `edit` and `admin` of Kubernetes by a controller.
  const controllers = access ? { controllers: [...CONTROLLERS, 'clusterrole-aggregation-controller'] } : {}
  const controlPlane = new ControlPlane({ ...controllers, ...rest, crds: [...ours, ...foreign.crds] })
  await controlPlane.start()
  try {
    // Of the same installation that others have; its operator runs outside of the cluster.
    const parts = renderInstallation({ image: 'none', namespace: OPERATOR_NAMESPACE, policy: policy ?? {} })
    const create = async (objects: readonly KubeObject[]) => {
      for (const object of objects) await createObject(controlPlane, object)
    }
    if (access) await create(parts.namespaces)
    for (const name of namespaces) await createNamespace(controlPlane, name)
    if (access) await create(parts.access)
    if (policy !== undefined) await create(parts.policy)
  } catch (error) {
    await controlPlane.stop()
    throw error
  }
  return { controlPlane, foreign, [Symbol.asyncDispose]: () => controlPlane.stop() }
}

async function createNamespace(controlPlane: ControlPlane, name: string): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
  const { status, text } = await controlPlane.request('POST', '/api/v1/namespaces', namespace)
  if (status !== 201 && status !== 409) throw new Error(`cannot create the namespace ${name}: ${text}`)
}

/** Where objects of the kinds of an installation are created. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  ConfigMap: `/api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps`,
}

async function createObject(controlPlane: ControlPlane, object: KubeObject): Promise<void> {
  const { kind, metadata } = object
  const { status, text } = await controlPlane.request('POST', COLLECTIONS[kind] ?? '', object)
  // A folder that is kept has them from the time before.
  if (status !== 201 && status !== 409) throw new Error(`cannot create ${kind} ${metadata.name}: ${text}`)
}
