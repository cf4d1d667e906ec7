import { k8s } from 'cdk8s-plus-29'
import { Construct } from 'constructs'
import { OPERATOR_NAMESPACE, POLICY_DEFAULTS } from '../api/policy.ts'
import { DeletionGuard } from './deletion-guard.ts'
import { OPERATOR_LABELS, PART_OF } from './operator-names.ts'
import { NOT_PRUNED, RETAINED } from './retained.ts'

/** Names of the namespaces. */
export interface NamespacesProps {
  /** Namespace of the operator. @default `sync-operator` */
  readonly namespace?: string
  /** Namespace of the images that workspaces share: `imageNamespace` of the policy. @default `vmdi-farm` */
  readonly imageNamespace?: string
}

/**
 * The namespace of the operator, and that of the images. The second one holds everybody's disks and is retained, so they must be different. Throws,
 * naming the property, if they are the same.
 */
export class Namespaces extends Construct {
  constructor(scope: Construct, id: string, props: NamespacesProps = {}) {
    super(scope, id)
    const { namespace = OPERATOR_NAMESPACE, imageNamespace = POLICY_DEFAULTS.imageNamespace } = props
    if (imageNamespace === namespace)
      throw new Error(
        `${this.node.path}: imageNamespace is "${namespace}", the namespace of the operator: name another one, because images stay when the operator goes`,
      )
    new k8s.KubeNamespace(this, 'Operator', {
      metadata: {
        name: namespace,
        labels: { ...OPERATOR_LABELS, 'pod-security.kubernetes.io/enforce': 'restricted' },
        // The ledger is in it.
        annotations: NOT_PRUNED,
      },
    })
    new k8s.KubeNamespace(this, 'Images', {
      metadata: { name: imageNamespace, labels: PART_OF, annotations: RETAINED },
    })
    // After what it guards, because a whole manifest is deleted in its order.
    new DeletionGuard(this, 'Guard', { guards: 'namespaces' })
  }
}
