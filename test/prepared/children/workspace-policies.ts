import type { NetworkPolicyObject } from '../../../constructs/children/workspace-network-policies.ts'
import type { Pod } from '../../../sandbox/simulators/models.ts'
import { type Destination, mayReach } from '../../../sandbox/simulators/network-policies.ts'

/** The part of a pod that NetworkPolicies use. */
export interface PolicedPod {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  /** On the pod network. Default: not known. */
  readonly address?: string
}

/** Reports whether policies let one pod reach a port of another, as the sandbox decides it. Every namespace has the label of its name. */
export function isLetThrough(
  policies: readonly NetworkPolicyObject[],
  from: PolicedPod,
  to: PolicedPod,
  destination: Destination,
): boolean {
  const namespaces = [from, to].map(({ namespace: name }) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
  }))
  return mayReach({ policies: policies as never, namespaces }, podOf(from), podOf(to), destination)
}

function podOf({ address, ...place }: PolicedPod): Pod {
  const status = address !== undefined && { status: { podIP: address } }
  const metadata = { ...place, name: 'pod' }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] }, ...status } as never
}
