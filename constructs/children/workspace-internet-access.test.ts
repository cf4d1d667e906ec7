import { describe, expect, it } from 'vitest'
import { isLetThrough } from '../../test/prepared/children/workspace-policies.ts'
import { isInNetwork, parseCidr } from '../api/ip-address.ts'
import { renderWorkspaceInternetAccess } from './workspace-internet-access.ts'
import { renderWorkspaceNetworkPolicies } from './workspace-network-policies.ts'

const workspace = { name: 'lab', uid: '0' }
const policyWith = (...deniedCidrs: string[]) => renderWorkspaceInternetAccess({ workspace, deniedCidrs })
const blocksWith = (...deniedCidrs: string[]) =>
  (policyWith(...deniedCidrs).spec.egress ?? []).flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? []))

describe('access to the internet', () => {
  it('is one NetworkPolicy for all pods', () => {
    const { metadata, spec } = policyWith()
    expect(metadata).toMatchObject({ name: 'allow-internet', namespace: 'lab' })
    expect(spec).toMatchObject({ podSelector: {}, policyTypes: ['Egress'] })
    expect(spec.ingress).toBeUndefined()
    expect(blocksWith()).toMatchInlineSnapshot(`
      [
        {
          "cidr": "0.0.0.0/0",
          "except": [
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",
          ],
        },
        {
          "cidr": "2000::/3",
          "except": [
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
          ],
        },
      ]
    `)
  })

  it.each<[what: string, expected: boolean, address: string, except?: string]>([
    ['a public address', true, '9.9.9.9'],
    ['the first one', true, '1.0.0.0'],
    ['the last one before multicast', true, '223.255.255.255'],
    ['a neighbour of a private range', true, '172.15.255.255'],
    ['another neighbour', true, '172.32.0.0'],
    ['a public address of IPv6', true, '2620:fe::fe'],
    ['10/8', false, '10.244.1.7'],
    ['172.16/12', false, '172.31.255.255'],
    ['192.168/16', false, '192.168.0.1'],
    ['addresses of carriers, and of the metadata of a cloud', false, '100.100.100.200'],
    ['link-local addresses, and the metadata of clouds', false, '169.254.169.254'],
    ['the platform of Azure', false, '168.63.129.16'],
    ['loopback', false, '127.0.0.1'],
    ['this host', false, '0.0.0.0'],
    ['multicast', false, '224.0.0.251'],
    ['broadcast', false, '255.255.255.255'],
    ['unique local addresses, and the metadata of a cloud', false, 'fd00:ec2::254'],
    ['link-local addresses of IPv6', false, 'fe80::a9fe:a9fe'],
    ['loopback of IPv6', false, '::1'],
    ['IPv4 in IPv6', false, '::ffff:a00:1'],
    ['IPv4 by NAT64', false, '64:ff9b::a00:1'],
    ['IPv4 by 6to4', false, '2002:a00:1::1'],
    ['IPv4 by Teredo', false, '2001::1'],
    ['multicast of IPv6', false, 'ff02::1'],
    ['a range of the policy', false, '8.8.8.8', '8.8.0.0/16'],
    ['an address beside it', true, '8.9.0.0', '8.8.0.0/16'],
    ['a range of the policy with an address in it', false, '8.8.255.255', '8.8.1.7/16'],
    ['a range of IPv6 of the policy', false, '2620:fe::fe', '2620:FE::/48'],
    ['all of IPv4, if the policy says so', false, '9.9.9.9', '0.0.0.0/0'],
    ['IPv6, if the policy leaves out IPv4', true, '2620:fe::fe', '0.0.0.0/0'],
    ['all of IPv6, if the policy says so', false, '2620:fe::fe', '::/0'],
  ])('to %s: %s', (_what, expected, address, except) => {
    const policies = renderWorkspaceNetworkPolicies({ workspace, containerClusters: [], imageNamespace: 'farm' })
    const member = { namespace: 'lab', labels: {} }
    const outside = { namespace: 'elsewhere', labels: {}, address }
    const asks = (own: typeof policies) => isLetThrough(own, member, outside, { port: 443 })
    expect([asks(policies), asks([...policies, policyWith(...(except === undefined ? [] : [except]))])]).toEqual([
      false,
      expected,
    ])
  })

  // Kubernetes refuses any other exception.
  it.each([
    [[]],
    [['0.0.0.0/1', '8.0.0.0/8', '8.8.0.0/16', '8.8.0.0/16', 'fd00::/8', '2600::/12', 'nothing']],
    [['::/1', '2000::/4']],
  ])('has exceptions that are smaller than their block, each once: %s', (deniedCidrs) => {
    for (const { cidr, except } of blocksWith(...deniedCidrs)) {
      const [whole, ...parts] = [cidr, ...except].map((one) => parseCidr(one))
      if (whole === undefined) throw new Error(`${cidr} is no range`)
      expect(except).toEqual([...new Set(except)])
      expect(parts.every((one) => one && isInNetwork(one, whole) && one.length > whole.length)).toBe(true)
    }
  })

  it('leads nowhere if nothing is left, where a rule without ranges would lead everywhere', () => {
    expect(policyWith('0.0.0.0/0', '::/0').spec.egress).toEqual([])
  })
})
