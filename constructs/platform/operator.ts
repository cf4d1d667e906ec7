import { ApiObject, type ApiObjectProps } from 'cdk8s'
import { Construct } from 'constructs'
import { OPERATOR_NAMESPACE } from '../api/policy.ts'
import { CLUSTER_ACCESS, NAMESPACE_ACCESS } from './access.ts'

const NAME = 'open-terrain-operator'
const METRICS_PORT = 8080
const HEALTH_PORT = 8081
/** User and group `nonroot` of common base images. */
const USER_ID = 65532

export interface OperatorProps {
  /** Container image of the operator, best by digest. */
  readonly image: string
  /** @default `sync-operator` */
  readonly namespace?: string
  /** Where CDI is installed: the Lease of its controller tells whether it works. @default `cdi` */
  readonly cdiNamespace?: string
  /** One leads, the others wait for its Lease. @default 2 */
  readonly replicas?: number
  /** Quantities. @default requests of 100m and 128Mi, a limit of 256Mi of memory and none of CPU */
  readonly resources?: {
    readonly requests?: { readonly cpu?: string; readonly memory?: string }
    readonly limits?: { readonly cpu?: string; readonly memory?: string }
  }
}

const DEFAULT_RESOURCES = { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } }

/** The operator itself: namespace, identity, rights, two replicas that survive the drain of a node. */
export class Operator extends Construct {
  constructor(scope: Construct, id: string, props: OperatorProps) {
    super(scope, id)
    if (props.image.trim() === '')
      throw new Error(`${this.node.path}: image is empty, name the operator's container image`)
    const namespace = props.namespace ?? OPERATOR_NAMESPACE
    this.addNamespace(namespace)
    this.addAccess(namespace)
    this.add('Deployment', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: NAME, namespace, labels: LABELS_OF_OPERATOR },
      spec: deploymentSpec(props),
    })
    this.add('PodDisruptionBudget', {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: NAME, namespace, labels: LABELS_OF_OPERATOR },
      spec: { maxUnavailable: 1, selector: { matchLabels: SELECTOR } },
    })
  }

  private addNamespace(name: string): void {
    const labels = { ...LABELS_OF_OPERATOR, 'pod-security.kubernetes.io/enforce': 'restricted' }
    this.add('Namespace', { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  }

  private addAccess(namespace: string): void {
    const metadata = { name: NAME, labels: LABELS_OF_OPERATOR }
    const local = { ...metadata, namespace }
    const subjects = [{ kind: 'ServiceAccount', name: NAME, namespace }]
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' }
    const roleOf = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: NAME })
    this.add('ServiceAccount', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: local })
    this.add('ClusterRole', { ...rbac, kind: 'ClusterRole', metadata, rules: CLUSTER_ACCESS })
    this.add('ClusterRoleBinding', {
      ...rbac,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: roleOf('ClusterRole'),
      subjects,
    })
    this.add('Role', { ...rbac, kind: 'Role', metadata: local, rules: NAMESPACE_ACCESS })
    this.add('RoleBinding', { ...rbac, kind: 'RoleBinding', metadata: local, roleRef: roleOf('Role'), subjects })
  }

  private add(id: string, props: ApiObjectProps & Record<string, unknown>): void {
    new ApiObject(this, id, props)
  }
}

const SELECTOR = { 'app.kubernetes.io/name': NAME }
const LABELS_OF_OPERATOR = { ...SELECTOR, 'app.kubernetes.io/part-of': 'open-terrain' }

function deploymentSpec(props: OperatorProps): object {
  const { image, cdiNamespace = 'cdi', replicas = 2, resources = DEFAULT_RESOURCES } = props
  const env = [...ENV, { name: 'CDI_NAMESPACE', value: cdiNamespace }]
  return {
    replicas,
    selector: { matchLabels: SELECTOR },
    template: {
      metadata: { labels: LABELS_OF_OPERATOR },
      spec: {
        serviceAccountName: NAME,
        terminationGracePeriodSeconds: 15,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: USER_ID,
          runAsGroup: USER_ID,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: SELECTOR },
          },
        ],
        containers: [{ name: 'operator', image, env, resources, ...CONTAINER }],
      },
    },
  }
}

const ENV = [
  { name: 'OPERATOR_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
  { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  { name: 'METRICS_ADDRESS', value: `:${METRICS_PORT}` },
  { name: 'HEALTH_ADDRESS', value: `:${HEALTH_PORT}` },
]

const CONTAINER = {
  ports: [
    { name: 'metrics', containerPort: METRICS_PORT },
    { name: 'health', containerPort: HEALTH_PORT },
  ],
  livenessProbe: { httpGet: { path: '/healthz', port: 'health' }, periodSeconds: 10, failureThreshold: 6 },
  readinessProbe: { httpGet: { path: '/readyz', port: 'health' }, periodSeconds: 5 },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
}
