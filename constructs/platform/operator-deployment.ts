import { k8s } from 'cdk8s-plus-29'
import { parseMilliQuantity } from '../api/quantity.ts'
import { heapFlag } from './operator-heap.ts'
import { OPERATOR_LABELS, OPERATOR_NAME, OPERATOR_PORTS, OPERATOR_SELECTOR } from './operator-names.ts'

/** User and group `nonroot` of common base images. */
const USER_ID = 65532

/** The pods of the operator. */
export interface OperatorDeploymentProps {
  /** Container image of the operator, preferably by digest, such as registry.example.com/open-terrain/operator:1.4.0. */
  readonly image: string
  /** Names of the Secrets in the operator's namespace for pulling the image. They are not created here. Such as ['registry-login']. @default none */
  readonly imagePullSecrets?: readonly string[]
  /** Namespace of CDI: the Lease of its controller shows whether it works. @default `cdi` */
  readonly cdiNamespace?: string
  /** Namespace of KubeVirt: the Lease of virt-controller shows whether it works. @default `kubevirt` */
  readonly kubevirtNamespace?: string
  /** One replica leads, the others wait for its Lease. @default 2 */
  readonly replicas?: number
  /**
   * Quantities. The heap size of Node follows from the memory limit.
   * @default requests of 100m and 192Mi (the memory limit, if that is less), a memory limit of 320Mi and no CPU limit: enough for 10,000 images
   */
  readonly resources?: {
    readonly requests?: { readonly cpu?: string; readonly memory?: string }
    readonly limits?: { readonly cpu?: string; readonly memory?: string }
  }
  /** What the pods have beyond what the operator needs. @default nothing */
  readonly pods?: OperatorPodOptions
  /** Version of the operator, such as 1.4.0, for the label `app.kubernetes.io/version`. @default no such label */
  readonly version?: string
}

/** As in the spec of a Pod. */
export interface OperatorPodOptions {
  /** Labels of the nodes that they may run on, such as { pool: 'system' }. @default any node */
  readonly nodeSelector?: Readonly<Record<string, string>>
  /** Taints of nodes that they tolerate. @default none */
  readonly tolerations?: readonly Toleration[]
  /** Name of a PriorityClass, such as system-cluster-critical. It must exist. @default none */
  readonly priorityClassName?: string
  /** Labels beyond those that the operator has, such as { team: 'labs' }. @default none */
  readonly labels?: Readonly<Record<string, string>>
  /** Annotations of the pods, such as { 'example.com/scrape': 'false' }. @default none */
  readonly annotations?: Readonly<Record<string, string>>
  /** Environment variables of the container by name, such as { LOG_LEVEL: 'debug' }. @default none */
  readonly env?: Readonly<Record<string, string>>
}

/** One taint that is tolerated, as in the spec of a Pod. */
export interface Toleration {
  /** Key of the taint, such as dedicated. @default every key, which needs `Exists` */
  readonly key?: string
  /** Exists: whatever the value of the taint is. Equal: only that value. @default `Equal` */
  readonly operator?: 'Exists' | 'Equal'
  /** Value of the taint, such as labs. @default the empty one */
  readonly value?: string
  /** Effect of the taint. @default every effect */
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
  /** Seconds that the taint is tolerated, such as 300. Only with the effect `NoExecute`. @default for ever */
  readonly tolerationSeconds?: number
}

/** During an upgrade, new pods are spread only among themselves. */
const OF_ITS_REVISION = { labelSelector: { matchLabels: OPERATOR_SELECTOR }, matchLabelKeys: ['pod-template-hash'] }
/** Memory limit of the operator's container, unless another one is given. */
export const MEMORY_LIMIT = '320Mi'
const DEFAULTS = { cpu: '100m', memory: '192Mi', memoryLimit: MEMORY_LIMIT }

/** Includes the version if it is known. It is not part of any selector, because selectors can never change. */
export function versionedLabels(version: string | undefined): Record<string, string> {
  return { ...OPERATOR_LABELS, ...(version === undefined ? {} : { 'app.kubernetes.io/version': version }) }
}

/** Contains nothing of the policy: the operator reads it live, and a policy change must not restart anything. */
export function deploymentSpec(props: OperatorDeploymentProps): k8s.DeploymentSpec {
  return {
    replicas: props.replicas ?? 2,
    selector: { matchLabels: OPERATOR_SELECTOR },
    // A standby replica is ready before the leader is removed.
    strategy: {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: k8s.IntOrString.fromNumber(1), maxUnavailable: k8s.IntOrString.fromNumber(0) },
    },
    template: { metadata: podMetadata(props), spec: podSpec(props) },
  }
}

function podMetadata({
  version,
  pods: { labels = {}, annotations = {} } = {},
}: OperatorDeploymentProps): k8s.ObjectMeta {
  const own = versionedLabels(version)
  for (const key of Object.keys(labels))
    if (key in own) throw new Error(`pods.labels: ${key} is a label of the operator's own: leave it out`)
  return { labels: { ...labels, ...own }, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) }
}

function podSpec(props: OperatorDeploymentProps): k8s.PodSpec {
  const { imagePullSecrets = [], pods: { nodeSelector, tolerations = [], priorityClassName } = {} } = props
  return {
    serviceAccountName: OPERATOR_NAME,
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations: [...tolerations] }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    terminationGracePeriodSeconds: 15,
    // No environment variables about the Services of the namespace.
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER_ID,
      runAsGroup: USER_ID,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    // A node that lacks the label of one constraint is left out of the scores of all, so only a label that every node has may be one.
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', ...OF_ITS_REVISION },
    ],
    // Many clusters have no zones. This has no effect there.
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, podAffinityTerm: { topologyKey: 'topology.kubernetes.io/zone', ...OF_ITS_REVISION } },
        ],
      },
    },
    containers: [container(props)],
  }
}

/** Environment variables that follow from the other properties. */
const OWN_VARIABLES: readonly string[] = [
  ...['OPERATOR_NAMESPACE', 'POD_NAME', 'METRICS_ADDRESS', 'HEALTH_ADDRESS'],
  ...['CDI_NAMESPACE', 'KUBEVIRT_NAMESPACE', 'NODE_OPTIONS'],
]

function container(props: OperatorDeploymentProps) {
  const { image, cdiNamespace = 'cdi', kubevirtNamespace = 'kubevirt' } = props
  const { requests, limits } = operatorResources(props.resources)
  const health = k8s.IntOrString.fromString('health')
  const more = Object.entries(props.pods?.env ?? {}).map(([name, value]) => ({ name, value }))
  for (const { name } of more)
    if (OWN_VARIABLES.includes(name)) throw new Error(`pods.env: ${name} follows from other properties: leave it out`)
  return {
    name: 'operator',
    image,
    env: [
      { name: 'OPERATOR_NAMESPACE', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } } },
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'METRICS_ADDRESS', value: `:${OPERATOR_PORTS.metrics}` },
      { name: 'HEALTH_ADDRESS', value: `:${OPERATOR_PORTS.health}` },
      { name: 'CDI_NAMESPACE', value: cdiNamespace },
      { name: 'KUBEVIRT_NAMESPACE', value: kubevirtNamespace },
      { name: 'NODE_OPTIONS', value: heapFlag(limits.memory) },
      ...more,
    ],
    resources: { requests: quantities(requests), limits: quantities(limits) },
    ports: Object.entries(OPERATOR_PORTS).map(([name, containerPort]) => ({ name, containerPort })),
    livenessProbe: { httpGet: { path: '/healthz', port: health }, periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { httpGet: { path: '/readyz', port: health }, periodSeconds: 5 },
    securityContext: {
      allowPrivilegeEscalation: false,
      // It writes no file.
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  } satisfies k8s.Container
}

interface OperatorResources {
  readonly requests: { readonly cpu: string; readonly memory: string }
  readonly limits: { readonly cpu?: string; readonly memory: string }
}

/** Returns the resources of the container with their defaults. A default request is never more than its limit. */
export function operatorResources(given: OperatorDeploymentProps['resources'] = {}): OperatorResources {
  const limits = { memory: DEFAULTS.memoryLimit, ...given.limits }
  const requests = { cpu: lesser(DEFAULTS.cpu, limits.cpu), memory: lesser(DEFAULTS.memory, limits.memory) }
  return { requests: { ...requests, ...given.requests }, limits }
}

function lesser(amount: string, limit = amount): string {
  return (parseMilliQuantity(limit) ?? Infinity) < (parseMilliQuantity(amount) ?? 0n) ? limit : amount
}

function quantities(amounts: Readonly<Record<string, string>>): Record<string, k8s.Quantity> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, k8s.Quantity.fromString(amount)]))
}
