import { k8s } from 'cdk8s-plus-29'
import { compareQuantities } from '../api/quantity.ts'
import { heapFlag } from './operator-heap.ts'
import { OPERATOR_LABELS, OPERATOR_NAME, OPERATOR_PORTS, OPERATOR_SELECTOR } from './operator-names.ts'

/** User and group `nonroot` of common base images. */
const USER_ID = 65532

export interface OperatorDeploymentProps {
  /** Container image of the operator, preferably by digest. */
  readonly image: string
  /** Names of the Secrets in the operator's namespace for pulling the image. They are not created here. @default none */
  readonly imagePullSecrets?: readonly string[]
  /** Namespace of CDI: the Lease of its controller shows whether it works. @default `cdi` */
  readonly cdiNamespace?: string
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
  /** Version of the operator, for the label `app.kubernetes.io/version`. @default no such label */
  readonly version?: string
}

const DEFAULTS = { cpu: '100m', memory: '192Mi', memoryLimit: '320Mi' }

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
    template: { metadata: { labels: versionedLabels(props.version) }, spec: podSpec(props) },
  }
}

function podSpec(props: OperatorDeploymentProps): k8s.PodSpec {
  const { imagePullSecrets = [] } = props
  return {
    serviceAccountName: OPERATOR_NAME,
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
    topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: OPERATOR_SELECTOR },
      // During an upgrade, new pods are spread only among themselves.
      matchLabelKeys: ['pod-template-hash'],
    })),
    containers: [container(props)],
  }
}

function container({ image, cdiNamespace = 'cdi', resources = {} }: OperatorDeploymentProps) {
  const limits = { memory: DEFAULTS.memoryLimit, ...resources.limits }
  const isLess = (compareQuantities(limits.memory, DEFAULTS.memory) ?? 0) < 0
  const requests = { cpu: DEFAULTS.cpu, memory: isLess ? limits.memory : DEFAULTS.memory, ...resources.requests }
  const health = k8s.IntOrString.fromString('health')
  return {
    name: 'operator',
    image,
    env: [
      { name: 'OPERATOR_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'METRICS_ADDRESS', value: `:${OPERATOR_PORTS.metrics}` },
      { name: 'HEALTH_ADDRESS', value: `:${OPERATOR_PORTS.health}` },
      { name: 'CDI_NAMESPACE', value: cdiNamespace },
      { name: 'NODE_OPTIONS', value: heapFlag(limits.memory) },
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

function quantities(amounts: Readonly<Record<string, string>>): Record<string, k8s.Quantity> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, k8s.Quantity.fromString(amount)]))
}
