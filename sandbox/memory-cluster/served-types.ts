import { dataSync, virtualMachine, vmDiskImage, workspace, workspaceSnapshot } from '@open-terrain/constructs/operator'
import type { KubeObject, ObjectMeta, ResourceType } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import * as sandboxTypes from '../resource-types.ts'
import { completedJob } from './job-objects.ts'

export const IMAGE: ResourceType = typeOf(vmDiskImage)

/** Every kind that the operator or the simulators read or write. */
export const SERVED_TYPES: readonly ResourceType[] = [
  IMAGE,
  ...[virtualMachine, dataSync, workspace, workspaceSnapshot].map(typeOf),
  ...Object.values(types),
  ...Object.values(sandboxTypes),
]

/** Groups that the API server serves without a CustomResourceDefinition. */
const BUILT_IN_GROUPS: readonly string[] = [
  '',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apps',
  'batch',
  'coordination.k8s.io',
  'networking.k8s.io',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
]
const WITHOUT_STATUS: readonly ResourceType[] = [
  types.CONFIG_MAP,
  types.SECRET,
  types.EVENT,
  types.LEASE,
  types.STORAGE_CLASS,
  sandboxTypes.SERVICE_ACCOUNT,
  types.VOLUME_SNAPSHOT_CLASS,
  types.NETWORK_ATTACHMENT_DEFINITION,
  types.NETWORK_POLICY,
  types.ROLE_BINDING,
  // KubeVirt keeps this status in the main resource.
  types.VIRTUAL_MACHINE_INSTANCE,
]
const COUNTED_BUILT_INS: readonly ResourceType[] = [
  types.POD,
  types.CUSTOM_RESOURCE_DEFINITION,
  types.DEPLOYMENT,
  types.JOB,
  types.NETWORK_POLICY,
  sandboxTypes.REPLICA_SET,
]

/** How the API server treats one kind. */
export interface Traits {
  readonly isCustom: boolean
  /** Status is a subresource: writes of the main resource ignore status, and writes of status ignore everything else. */
  readonly hasStatus: boolean
  readonly hasGeneration: boolean
  /** Adds what the server sets on a new object of this kind, besides what it sets on all objects. */
  readonly complete: (object: KubeObject) => KubeObject
}

function typeOf({ group, version, kind, plural, namespaced }: ResourceType): ResourceType {
  return { group, version, kind, plural, namespaced }
}

export function traitsOf(type: ResourceType): Traits {
  const isCustom = !BUILT_IN_GROUPS.includes(type.group)
  const is = (other: ResourceType) => idOf(other) === idOf(type)
  return {
    isCustom,
    hasStatus: !WITHOUT_STATUS.some(is),
    hasGeneration: isCustom || COUNTED_BUILT_INS.some(is),
    complete:
      type.group === IMAGE.group
        ? unseen
        : (Object.entries(COMPLETIONS).find(([plural]) => plural === type.plural && !isCustom)?.[1] ?? ((one) => one)),
  }
}

/** The default of the CRDs of our kinds. */
function unseen(object: KubeObject): KubeObject {
  return { ...object, status: { observedGeneration: -1 } } as KubeObject
}

/** Returns the ID of a kind within a cluster. */
export function idOf({ plural, group }: ResourceType): string {
  return `${plural}.${group}`
}

interface Claim extends KubeObject {
  readonly spec?: object
}

interface Service extends KubeObject {
  readonly spec: { readonly type?: string; readonly ports?: readonly object[] }
}

/** As a cluster of one family has it. Ports of nodes begin at the same one for each Service: nothing listens there. */
function withAddress(object: KubeObject): KubeObject {
  const { type = 'ClusterIP', ports = [], ...spec } = (object as Service).spec
  const address = {
    clusterIP: '10.96.0.10',
    clusterIPs: ['10.96.0.10'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  }
  const hasNodePorts = type !== 'ClusterIP'
  return {
    ...object,
    spec: {
      ...spec,
      type,
      ports: ports.map((one, at) => ({ ...one, ...(hasNodePorts && { nodePort: 30_000 + at }) })),
      ...address,
      internalTrafficPolicy: 'Cluster',
      sessionAffinity: 'None',
    },
    status: { loadBalancer: {} },
  } as KubeObject
}

const COMPLETIONS: Readonly<Record<string, (object: KubeObject) => KubeObject>> = {
  jobs: completedJob,
  services: withAddress,
  pods: (object) => ({ ...object, status: { phase: 'Pending' } }) as KubeObject,
  persistentvolumeclaims: (object) =>
    ({
      ...object,
      metadata: withFinalizer(object.metadata, 'kubernetes.io/pvc-protection'),
      spec: { volumeMode: 'Filesystem', ...(object as Claim).spec },
      status: { phase: 'Pending' },
    }) as KubeObject,
  persistentvolumes: (object) =>
    ({
      ...object,
      metadata: withFinalizer(object.metadata, 'kubernetes.io/pv-protection'),
      status: { phase: 'Pending' },
    }) as KubeObject,
  namespaces: (object) =>
    ({
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name },
      },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    }) as KubeObject,
}

function withFinalizer(metadata: ObjectMeta, finalizer: string): ObjectMeta {
  return { ...metadata, finalizers: [...new Set([...(metadata.finalizers ?? []), finalizer])] }
}
