import { k8s } from 'cdk8s-plus-29'
import { Construct } from 'constructs'
import { LAB_ISOLATION } from '../api/labels.ts'
import { shortHash } from '../api/names.ts'
import { LAB_TABLE, labIsolationRules } from './lab-isolation-rules.ts'
import { PART_OF } from './operator-names.ts'

/** What keeps nodes out of the networks of workspaces. */
export interface LabIsolationProps {
  /** Container image with `sh` and `nft` (nftables 1.0 or newer), preferably by digest, such as registry.example.com/nft:1.1. */
  readonly image: string
  /** Labels of the nodes that run members of workspaces, such as { labs: 'true' }. @default every Linux node */
  readonly nodeSelector?: Readonly<Record<string, string>>
}

const NAME = 'open-terrain-lab-isolation'
const RULES = '/etc/open-terrain/labs.nft'
/** Loaded again, because a firewall of the node that is reloaded removes the rules of everybody. */
const LOAD = `trap 'exit 0' TERM; while nft -f ${RULES}; do sleep 30 & wait $!; done; exit 1`
const CHECK = `nft list table inet ${LAB_TABLE} > /dev/null && nft list table arp ${LAB_TABLE} > /dev/null`

/**
 * Keeps every node out of the networks that its Linux bridges carry: a DaemonSet that loads rules of nftables. Its pods need the network of
 * the node and NET_ADMIN, so they have a namespace of their own. They have no ServiceAccount token and reach no API. The operator sees by their
 * readiness which nodes have the rules. When they are removed, the rules stay until the node starts again. Throws if the image is empty.
 */
export class LabIsolation extends Construct {
  constructor(scope: Construct, id: string, { image, nodeSelector = {} }: LabIsolationProps) {
    super(scope, id)
    if (image.trim() === '')
      throw new Error(`${this.node.path}: image is empty, name a container image with sh and nft`)
    const { namespace, label } = LAB_ISOLATION
    const labels = { 'app.kubernetes.io/name': NAME, ...PART_OF }
    const selector = { [label]: 'true' }
    const rules = labIsolationRules()
    new k8s.KubeNamespace(this, 'Namespace', {
      metadata: { name: namespace, labels: { ...PART_OF, 'pod-security.kubernetes.io/enforce': 'privileged' } },
    })
    new k8s.KubeConfigMap(this, 'Rules', { metadata: { name: NAME, namespace, labels }, data: { 'labs.nft': rules } })
    new k8s.KubeDaemonSet(this, 'DaemonSet', {
      metadata: { name: NAME, namespace, labels },
      spec: {
        selector: { matchLabels: selector },
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: k8s.IntOrString.fromString('25%') } },
        template: {
          // New rules are new pods, so that their readiness is about these rules.
          metadata: { labels: { ...labels, ...selector }, annotations: { 'pelotech.ot/rules': shortHash([rules]) } },
          spec: podSpec(image, { 'kubernetes.io/os': 'linux', ...nodeSelector }),
        },
      },
    })
  }
}

function podSpec(image: string, nodeSelector: Readonly<Record<string, string>>): k8s.PodSpec {
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostNetwork: true,
    nodeSelector: { ...nodeSelector },
    // Wherever a member of a workspace may run.
    tolerations: [{ operator: 'Exists' }],
    priorityClassName: 'system-node-critical',
    terminationGracePeriodSeconds: 5,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'rules',
        image,
        command: ['sh', '-c', LOAD],
        readinessProbe: { exec: { command: ['sh', '-c', CHECK] }, periodSeconds: 10 },
        resources: {
          requests: { cpu: k8s.Quantity.fromString('5m'), memory: k8s.Quantity.fromString('16Mi') },
          limits: { memory: k8s.Quantity.fromString('64Mi') },
        },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          // Others than root cannot use a capability that a container adds.
          runAsUser: 0,
          capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
        },
        volumeMounts: [{ name: 'rules', mountPath: '/etc/open-terrain', readOnly: true }],
      },
    ],
    volumes: [{ name: 'rules', configMap: { name: NAME } }],
  }
}
