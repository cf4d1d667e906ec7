import { Construct } from 'constructs'
import { LABELS } from '../api/labels.ts'
import { childName } from '../api/names.ts'
import type { WorkspaceContainerCluster } from '../api/workspace.ts'
import { RenderedObject, renderChildren } from './rendered-object.ts'
import { type WorkspaceChild, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'

export interface WorkspaceNetworkPoliciesProps {
  readonly workspace: WorkspaceRef
  readonly containerClusters: readonly WorkspaceContainerCluster[]
  /** Namespace of the images that disks are copied from. */
  readonly imageNamespace: string
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: 'Exists' }[]
}

/** A range of addresses without those in `except`. */
export interface IpBlock {
  /** In CIDR notation. */
  readonly cidr: string
  /** Ranges in it, in CIDR notation. */
  readonly except: readonly string[]
}

interface Peer {
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
  readonly ipBlock?: IpBlock
}

interface Port {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly port: number
}

export interface NetworkPolicySpec {
  readonly podSelector: Selector
  readonly policyTypes: readonly ('Ingress' | 'Egress')[]
  readonly ingress?: readonly { readonly from?: readonly Peer[]; readonly ports?: readonly Port[] }[]
  readonly egress?: readonly { readonly to?: readonly Peer[]; readonly ports?: readonly Port[] }[]
}

export type NetworkPolicyObject = WorkspaceChild<'NetworkPolicy', NetworkPolicySpec>

const ALL: Selector = {}
const NAMESPACE_NAME = 'kubernetes.io/metadata.name'
/** On every CDI pod that copies a disk. */
const CDI_WORKER: Selector = { matchLabels: { app: 'containerized-data-importer' } }
/** The pod that receives the data. */
const CDI_RECEIVER: Selector = { matchLabels: { 'cdi.kubevirt.io': 'cdi-upload-server' } }
const CDI_PORT: Port = { protocol: 'TCP', port: 8443 }

/**
 * The policies for the pod network of a workspace. They only allow DNS of the cluster, ports that containers declare, and the copies that CDI
 * makes if the driver cannot clone a disk. The workspace's own networks are separate, and no NetworkPolicy applies to them.
 */
export class WorkspaceNetworkPolicies extends Construct {
  constructor(scope: Construct, id: string, props: WorkspaceNetworkPoliciesProps) {
    super(scope, id)
    for (const one of policiesOf(props)) new RenderedObject(this, `${one.kind}-${one.metadata.name}`, one)
  }
}

export function renderWorkspaceNetworkPolicies(props: WorkspaceNetworkPoliciesProps): NetworkPolicyObject[] {
  return renderChildren((chart) => new WorkspaceNetworkPolicies(chart, 'NetworkPolicies', props))
}

function policiesOf(props: WorkspaceNetworkPoliciesProps): NetworkPolicyObject[] {
  const { workspace, containerClusters } = props
  const policy = (name: string, spec: NetworkPolicySpec): NetworkPolicyObject => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: workspaceChildMetadata({ workspace, name }),
    spec,
  })
  return [
    policy('default-deny', { podSelector: ALL, policyTypes: ['Ingress', 'Egress'] }),
    policy('allow-dns', { podSelector: ALL, policyTypes: ['Egress'], egress: [toClusterDns()] }),
    // The policies of the ports decide what may come in.
    policy('allow-workspace', { podSelector: ALL, policyTypes: ['Egress'], egress: [{ to: [{ podSelector: ALL }] }] }),
    policy('allow-cdi-copies', cdiCopies(props)),
    ...containerClusters.flatMap((cluster) => {
      const spec = declaredPorts(cluster)
      return spec === undefined ? [] : [policy(childName(cluster.name, 'ports'), spec)]
    }),
  ]
}

function toClusterDns() {
  const namespaceSelector = { matchLabels: { [NAMESPACE_NAME]: 'kube-system' } }
  const ports: Port[] = [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ]
  return { to: [{ namespaceSelector, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }], ports }
}

/** A pod in the namespace of the image or the workspace sends, and one in the workspace receives. */
function cdiCopies({ workspace, imageNamespace }: WorkspaceNetworkPoliciesProps): NetworkPolicySpec {
  const senders = [imageNamespace, workspace.name].map((name) => ({
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: name } },
    podSelector: CDI_WORKER,
  }))
  return { podSelector: CDI_RECEIVER, policyTypes: ['Ingress'], ingress: [{ from: senders, ports: [CDI_PORT] }] }
}

function declaredPorts({ name, containers }: WorkspaceContainerCluster): NetworkPolicySpec | undefined {
  const ports = new Map<string, Port>()
  for (const { containerPort, protocol } of containers.flatMap(({ portMappings = [] }) => portMappings)) {
    const port = { protocol: protocolOf(protocol), port: containerPort }
    ports.set(JSON.stringify(port), port)
  }
  if (ports.size === 0) return undefined
  return {
    podSelector: { matchLabels: { [LABELS.containerCluster]: name } },
    policyTypes: ['Ingress'],
    ingress: [{ ports: [...ports.values()] }],
  }
}

/** Returns the protocol as Kubernetes writes it. */
export function protocolOf(protocol: 'tcp' | 'udp' | 'sctp' = 'tcp'): 'TCP' | 'UDP' | 'SCTP' {
  return ({ tcp: 'TCP', udp: 'UDP', sctp: 'SCTP' } as const)[protocol]
}
