import { ApiObject } from 'cdk8s'
import { k8s } from 'cdk8s-plus-29'
import { Construct } from 'constructs'
import { OPERATOR_NAMESPACE } from '../api/policy.ts'
import { CLUSTER_ACCESS, NAMESPACE_ACCESS } from './access.ts'
import { OperatorConfinement } from './operator-confinement.ts'
import { deploymentSpec, type OperatorDeploymentProps, versionedLabels } from './operator-deployment.ts'
import { OPERATOR_LABELS, OPERATOR_NAME, OPERATOR_SELECTOR } from './operator-names.ts'
import { policyRules } from './rbac.ts'

/** The pods of the operator, and where they are. */
export interface OperatorProps extends OperatorDeploymentProps {
  /** Namespace of the operator. Must exist, see `Namespaces`. @default `sync-operator` */
  readonly namespace?: string
}

/** The operator itself: identity, rights, two replicas that survive a node drain. Throws, naming the property, if the props cannot work. */
export class Operator extends Construct {
  constructor(scope: Construct, id: string, props: OperatorProps) {
    super(scope, id)
    if (props.image.trim() === '')
      throw new Error(`${this.node.path}: image is empty, name the operator's container image`)
    const namespace = props.namespace ?? OPERATOR_NAMESPACE
    // Before the rights that it confines.
    new OperatorConfinement(this, 'Confinement', { namespace })
    this.addAccess(namespace)
    this.addLeasePriority(namespace)
    new k8s.KubeDeployment(this, 'Deployment', {
      metadata: { name: OPERATOR_NAME, namespace, labels: versionedLabels(props.version) },
      spec: deploymentSpec(props),
    })
    new k8s.KubePodDisruptionBudget(this, 'PodDisruptionBudget', {
      metadata: { name: OPERATOR_NAME, namespace, labels: OPERATOR_LABELS },
      spec: { maxUnavailable: k8s.IntOrString.fromNumber(1), selector: { matchLabels: OPERATOR_SELECTOR } },
    })
  }

  /**
   * Renewals of the Lease pass before the requests of all who share the operator's priority level: a tenant who keeps the API server busy
   * does not cost a leader its Lease.
   */
  private addLeasePriority(namespace: string): void {
    // cdk8s-plus takes its subjects for those of RBAC, and leaves ServiceAccounts out.
    new ApiObject(this, 'LeasePriority', {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name: `${OPERATOR_NAME}-lease`, labels: OPERATOR_LABELS },
      spec: {
        // Every API server has this level. Its own rule for it, at 100, is for kube-system alone, and the one for ServiceAccounts is at 9000.
        priorityLevelConfiguration: { name: 'leader-election' },
        matchingPrecedence: 200,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: OPERATOR_NAME, namespace } }],
            resourceRules: [
              {
                verbs: ['get', 'create', 'update'],
                apiGroups: ['coordination.k8s.io'],
                resources: ['leases'],
                namespaces: [namespace],
              },
            ],
          },
        ],
      },
    })
  }

  private addAccess(namespace: string): void {
    const metadata = { name: OPERATOR_NAME, labels: OPERATOR_LABELS }
    const local = { ...metadata, namespace }
    const subjects = [{ kind: 'ServiceAccount', name: OPERATOR_NAME, namespace }]
    const roleOf = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: OPERATOR_NAME })
    new k8s.KubeServiceAccount(this, 'ServiceAccount', { metadata: local })
    new k8s.KubeClusterRole(this, 'ClusterRole', { metadata, rules: policyRules(CLUSTER_ACCESS) })
    new k8s.KubeClusterRoleBinding(this, 'ClusterRoleBinding', { metadata, roleRef: roleOf('ClusterRole'), subjects })
    new k8s.KubeRole(this, 'Role', { metadata: local, rules: policyRules(NAMESPACE_ACCESS) })
    new k8s.KubeRoleBinding(this, 'RoleBinding', { metadata: local, roleRef: roleOf('Role'), subjects })
  }
}
