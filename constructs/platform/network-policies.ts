import { k8s } from 'cdk8s-plus-29'
import { Construct } from 'constructs'
import { OPERATOR_NAMESPACE, POLICY_DEFAULTS } from '../api/policy.ts'
import { OPERATOR_LABELS, OPERATOR_NAME, OPERATOR_PORTS, OPERATOR_SELECTOR, PART_OF } from './operator-names.ts'

const NAMESPACE_NAME = 'kubernetes.io/metadata.name'
/** On the CDI pods that download. */
const IMPORTERS = { 'cdi.kubevirt.io': 'importer' }
/** Link-local addresses, where nodes and clouds serve their metadata, and metadata addresses of clouds outside of them. */
const METADATA_V4 = ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32']
const METADATA_V6 = ['fe80::/10', 'fd00:ec2::254/128', 'fd20:ce::254/128']

/** Who may reach the operator, and whom it may reach. */
export interface NetworkPoliciesOptions {
  /** Labels of the namespaces whose pods may read the metrics port, such as { 'kubernetes.io/metadata.name': 'monitoring' }. @default the namespace `monitoring` */
  readonly metricsFrom?: Readonly<Record<string, string>>
  /**
   * Ports of the API server, at any address because no selector matches it: that of its Service and the one that it listens on.
   * @default 443 and 6443
   */
  readonly apiServerPorts?: readonly number[]
  /**
   * Ranges in CIDR notation, such as `10.0.0.0/8`, that importer pods may not reach in addition to link-local and metadata addresses, for example
   * those of pods and Services. Sources in a private network stay reachable unless listed here. `false` leaves importers without a NetworkPolicy.
   * @default no further range
   */
  readonly importers?: false | { readonly deniedRanges?: readonly string[] }
}

/** The same, and where. */
export interface NetworkPoliciesProps extends NetworkPoliciesOptions {
  /** Namespace of the operator. @default `sync-operator` */
  readonly namespace?: string
  /** Namespace of the images. @default `vmdi-farm` */
  readonly imageNamespace?: string
}

/**
 * Limits traffic to and from the pods of the operator, and where the importers of the image namespace may download from. The operator accepts probes
 * from anywhere, because kubelets have addresses that no selector matches, and metrics requests from chosen namespaces. It may send DNS requests and
 * requests to the API server. It downloads nothing itself.
 *
 * Importers in other namespaces have no such rule: the owners of these decide what is applied there.
 */
export class NetworkPolicies extends Construct {
  constructor(scope: Construct, id: string, props: NetworkPoliciesProps = {}) {
    super(scope, id)
    const { namespace = OPERATOR_NAMESPACE, imageNamespace = POLICY_DEFAULTS.imageNamespace, importers = {} } = props
    new k8s.KubeNetworkPolicy(this, 'Operator', {
      metadata: { name: OPERATOR_NAME, namespace, labels: OPERATOR_LABELS },
      spec: operatorRules(props),
    })
    if (importers === false) return
    new k8s.KubeNetworkPolicy(this, 'Importers', {
      metadata: { name: 'open-terrain-importers', namespace: imageNamespace, labels: PART_OF },
      spec: importerRules(importers.deniedRanges ?? []),
    })
  }
}

function operatorRules(props: NetworkPoliciesOptions): k8s.NetworkPolicySpec {
  const { metricsFrom = { [NAMESPACE_NAME]: 'monitoring' }, apiServerPorts = [443, 6443] } = props
  return {
    podSelector: { matchLabels: OPERATOR_SELECTOR },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      { ports: [port(OPERATOR_PORTS.health)] },
      { ports: [port(OPERATOR_PORTS.metrics)], from: [{ namespaceSelector: { matchLabels: { ...metricsFrom } } }] },
    ],
    egress: [DNS, { ports: apiServerPorts.map((one) => port(one)) }],
  }
}

function importerRules(deniedRanges: readonly string[]): k8s.NetworkPolicySpec {
  const isV6 = (range: string) => range.includes(':')
  return {
    podSelector: { matchLabels: IMPORTERS },
    // Ingress stays open: CDI reads the progress from these pods.
    policyTypes: ['Egress'],
    egress: [
      DNS,
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: [...METADATA_V4, ...deniedRanges.filter((one) => !isV6(one))] } },
          { ipBlock: { cidr: '::/0', except: [...METADATA_V6, ...deniedRanges.filter(isV6)] } },
        ],
      },
    ],
  }
}

function port(number: number, protocol: 'TCP' | 'UDP' = 'TCP'): k8s.NetworkPolicyPort {
  return { port: k8s.IntOrString.fromNumber(number), protocol }
}

/** At any address, because a DNS cache on the node has a link-local address. The DNS of OpenShift clusters listens on port 5353. */
const DNS: k8s.NetworkPolicyEgressRule = {
  ports: [53, 5353].flatMap((number) => [port(number, 'UDP'), port(number, 'TCP')]),
}
