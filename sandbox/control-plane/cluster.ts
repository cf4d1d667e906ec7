import { type PolicyValues, renderInstallation } from '@open-terrain/constructs/platform'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONTROLLERS, ControlPlane, type ControlPlaneOptions } from './control-plane.ts'
import { type ForeignCrds, foreignCrds } from './foreign-crds.ts'
import { ourCrds } from './install.ts'
import { seedWith } from './seed.ts'

export const OPERATOR_NAMESPACE = 'sync-operator'

export interface ClusterOptions extends Omit<ControlPlaneOptions, 'crds' | 'seed'> {
  /** Starts with a copy of an etcd that has the CRDs, which is made and kept for the next one. Default: false; then the CRDs are installed. */
  readonly isSeeded?: boolean
  /** `own`: installs only our reduced CRDs of CDI, KubeVirt, Multus and snapshots. Default: the real CRDs, if present. */
  readonly foreign?: 'own'
  /** Default: the namespace of the operator. */
  readonly namespaces?: readonly string[]
  /** Also creates the namespaces, roles and admission policies of an installation. Default: false; then only the CRDs reject anything. */
  readonly access?: boolean
  /** Also creates the policy ConfigMap of an installation, with these values. Default: none. */
  readonly policy?: PolicyValues
}

/** A control plane that is ready for the operator: it has our CRDs, those of the systems we depend on, and the namespaces. */
export interface Cluster extends AsyncDisposable {
  readonly controlPlane: ControlPlane
  readonly foreign: ForeignCrds
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const {
    foreign: only,
    namespaces = [OPERATOR_NAMESPACE],
    access = false,
    policy,
    isSeeded = false,
    ...rest
  } = options
  const [ours, foreign] = await Promise.all([ourCrds(), foreignCrds(only === undefined ? {} : { only })])
  // This controller aggregates our roles into `view`, `edit` and `admin` of Kubernetes.
  const controllers = access ? { controllers: [...CONTROLLERS, 'clusterrole-aggregation-controller'] } : {}
  const crds = [...ours, ...foreign.crds]
  const seed = isSeeded ? { seed: await seedWith(crds) } : {}
  const controlPlane = new ControlPlane({ ...controllers, ...rest, ...seed, crds })
  await controlPlane.start()
  try {
    // The same objects as in any installation. The operator itself runs outside the cluster.
    const parts = renderInstallation({ image: 'none', namespace: OPERATOR_NAMESPACE, policy: policy ?? {} })
    const create = async (objects: readonly KubeObject[]) => {
      for (const object of objects) await createObject(controlPlane, object)
    }
    if (access) await create(parts.namespaces)
    for (const name of namespaces) await createNamespace(controlPlane, name)
    if (access) await create(parts.access.filter(({ metadata }) => metadata.name !== OPERATOR_ALONE))
    if (policy !== undefined) await create(parts.policy)
  } catch (error) {
    await controlPlane.stop()
    throw error
  }
  return { controlPlane, foreign, [Symbol.asyncDispose]: () => controlPlane.stop() }
}

/** It lets the operator's ServiceAccount alone give ports of the node to containers, and here the operator runs as administrator. */
const OPERATOR_ALONE = 'open-terrain-lab-pods'

async function createNamespace(controlPlane: ControlPlane, name: string): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
  const { status, text } = await controlPlane.request('POST', '/api/v1/namespaces', namespace)
  if (status !== 201 && status !== 409) throw new Error(`cannot create the namespace ${name}: ${text}`)
}

/** API paths of the collections in which the objects of an installation are created, by kind. */
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
  // A kept folder still has the objects of the previous run.
  if (status !== 201 && status !== 409) throw new Error(`cannot create ${kind} ${metadata.name}: ${text}`)
}
