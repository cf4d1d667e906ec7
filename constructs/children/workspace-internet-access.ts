import type { Construct } from 'constructs'
import { type IpPrefix, isInNetwork, networkOf, parseCidr, prefixText } from '../api/ip-address.ts'
import { PRIVATE_V4 } from '../api/source-url.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import type { IpBlock, NetworkPolicyObject } from './workspace-network-policies.ts'

/** Name of the NetworkPolicy that lets members reach the internet. */
export const INTERNET_POLICY = 'allow-internet'

export interface WorkspaceInternetAccessProps {
  readonly workspace: WorkspaceRef
  /** Ranges in CIDR notation that are not reached, besides those that are never public. */
  readonly deniedCidrs: readonly string[]
}

/** All of IPv4, and what IPv6 has of global unicast. Outside of that are IPv4-mapped and NAT64 addresses, which lead to IPv4 addresses of any kind. */
const PUBLIC = ['0.0.0.0/0', '2000::/3'] as const

/**
 * What is never the internet: this host, loopback, link-local addresses with the metadata of clouds, and those of the platform of Azure, which are
 * public. In IPv6, ranges that lead to IPv4 addresses (Teredo, 6to4) or nowhere.
 */
const NEVER: readonly string[] = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  ...PRIVATE_V4.map(([octets, length]) => `${octets.join('.')}/${length}`),
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]

/** Lets all pods of a workspace send to public addresses. It opens nothing to others. No pod is replaced for it. */
export class WorkspaceInternetAccess extends RenderedObject<NetworkPolicyObject> {
  constructor(scope: Construct, id: string, props: WorkspaceInternetAccessProps) {
    super(scope, id, internetPolicyOf(props))
  }
}

export function renderWorkspaceInternetAccess(props: WorkspaceInternetAccessProps): NetworkPolicyObject {
  return renderOne((chart) => new WorkspaceInternetAccess(chart, 'InternetAccess', props))
}

function internetPolicyOf({ workspace, deniedCidrs }: WorkspaceInternetAccessProps): NetworkPolicyObject {
  const to = publicBlocks(deniedCidrs).map((ipBlock) => ({ ipBlock }))
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: workspaceChildMetadata({ workspace, name: INTERNET_POLICY }),
    // A rule whose `to` is empty would let through everything.
    spec: { podSelector: {}, policyTypes: ['Egress'], egress: to.length === 0 ? [] : [{ to }] },
  }
}

/** Returns what is public, without these ranges. Each exception is smaller than its block, and in no other exception: Kubernetes demands the former. */
function publicBlocks(deniedCidrs: readonly string[]): IpBlock[] {
  const denied = apart([...NEVER, ...deniedCidrs].flatMap((one) => parseCidr(one) ?? []).map(networkOf))
  return PUBLIC.flatMap((cidr): IpBlock[] => {
    const whole = parseCidr(cidr)
    if (whole === undefined || denied.some((one) => isWithin(whole, one))) return []
    return [{ cidr, except: denied.filter((one) => isWithin(one, whole)).map(prefixText) }]
  })
}

/** Returns the ranges in their order, without those that another one contains. */
function apart(ranges: readonly IpPrefix[]): IpPrefix[] {
  // A range comes before what it contains.
  const inOrder = ranges.toSorted((one, other) => {
    if (one.family !== other.family) return one.family - other.family
    return one.value === other.value ? one.length - other.length : one.value < other.value ? -1 : 1
  })
  const kept: IpPrefix[] = []
  for (const one of inOrder) {
    const last = kept.at(-1)
    if (last === undefined || !isWithin(one, last)) kept.push(one)
  }
  return kept
}

function isWithin(one: IpPrefix, other: IpPrefix): boolean {
  return one.length >= other.length && isInNetwork(one, other)
}
