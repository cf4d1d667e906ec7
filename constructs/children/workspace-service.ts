import { Construct } from 'constructs'
import { LABELS } from '../api/labels.ts'
import { childName, labelValue } from '../api/names.ts'
import type { ServiceType } from '../api/policy-fields.ts'
import type { WorkspaceService, WorkspaceSpec } from '../api/workspace.ts'
import { type ServiceProtocol, servicePortName } from '../api/workspace-services.ts'
import { RenderedObject, renderChildren } from './rendered-object.ts'
import { type WorkspaceChild, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import type { NetworkPolicyObject } from './workspace-network-policies.ts'

export interface ExposedMemberProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly service: WorkspaceService
}

interface ServicePort {
  readonly name: string
  readonly port: number
  readonly targetPort: number
  readonly protocol: ServiceProtocol
}

export type ServiceObject = WorkspaceChild<
  'Service',
  {
    readonly type: ServiceType
    readonly selector: Readonly<Record<string, string>>
    readonly ports: readonly ServicePort[]
  }
>

/** A Service for ports of one member, and the NetworkPolicy that opens exactly these ports of its pods. */
export class ExposedMember extends Construct {
  constructor(scope: Construct, id: string, props: ExposedMemberProps) {
    super(scope, id)
    new RenderedObject(this, 'NetworkPolicy', opening(props))
    new RenderedObject(this, 'Service', serviceOf(props))
  }
}

/** The NetworkPolicy comes first. */
export function renderExposedMember(props: ExposedMemberProps): (NetworkPolicyObject | ServiceObject)[] {
  return renderChildren((chart) => new ExposedMember(chart, 'Service', props))
}

export function serviceTypeOf({ type = 'ClusterIP' }: WorkspaceService): ServiceType {
  return type
}

function serviceOf({ workspace, spec, service }: ExposedMemberProps): ServiceObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: workspaceChildMetadata({ workspace, name: service.name }),
    spec: {
      type: serviceTypeOf(service),
      selector: podsOf(workspace, spec, service.member),
      ports: service.ports.map(({ name, port, targetPort = port, protocol = 'TCP' }) => ({
        name: servicePortName({ name, port, protocol }),
        port,
        targetPort,
        protocol,
      })),
    },
  }
}

/** A node, or a load balancer, passes on what comes from outside of the cluster. NetworkPolicies apply to the port of the pod, not to that of the Service. */
function opening({ workspace, spec, service }: ExposedMemberProps): NetworkPolicyObject {
  const ports = new Map(
    service.ports.map(({ port, targetPort = port, protocol = 'TCP' }) => [
      `${targetPort}/${protocol}`,
      { protocol, port: targetPort },
    ]),
  )
  const from = serviceTypeOf(service) === 'ClusterIP' ? { from: [{ namespaceSelector: {} }] } : {}
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: workspaceChildMetadata({ workspace, name: childName(service.name, 'service') }),
    spec: {
      podSelector: { matchLabels: podsOf(workspace, spec, service.member) },
      policyTypes: ['Ingress'],
      ingress: [{ ...from, ports: [...ports.values()] }],
    },
  }
}

/**
 * Returns the labels of the pods of a member. The name of a machine is also on the pods by which CDI copies its disk; KubeVirt sets the other label on the
 * pod that runs it.
 */
function podsOf(
  { uid }: WorkspaceRef,
  { containerClusters = [] }: WorkspaceSpec,
  member: string,
): Readonly<Record<string, string>> {
  return containerClusters.some(({ name }) => name === member)
    ? { [LABELS.containerCluster]: member, [LABELS.workspaceUid]: uid }
    : { [LABELS.vmName]: labelValue(member), 'kubevirt.io': 'virt-launcher' }
}
