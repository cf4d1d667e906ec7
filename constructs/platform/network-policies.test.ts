import { describe, expect, it } from 'vitest'
import type { Pod } from '../../sandbox/simulators/models.ts'
import { type Destination, mayReach, type NetworkPolicy } from '../../sandbox/simulators/network-policies.ts'
import { render } from '../children/render.ts'
import { NetworkPolicies, type NetworkPoliciesProps } from './network-policies.ts'
import { OPERATOR_LABELS } from './operator-names.ts'

const NAMESPACES = ['sync-operator', 'vmdi-farm', 'monitoring', 'kube-system', 'team'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name, team: String(name === 'team') } },
}))

function pod(namespace: string, labels: Record<string, string>, podIP = '10.244.0.1'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name: 'a', labels },
    spec: { containers: [{ name: 'main' }] },
    status: { podIP },
  }
}

const OPERATOR = pod('sync-operator', OPERATOR_LABELS)
const IMPORTER = pod('vmdi-farm', { 'cdi.kubevirt.io': 'importer' })
const at = (address: string) => pod('elsewhere', {}, address)

function reaches(from: Pod, to: Pod, destination: Destination, props: NetworkPoliciesProps = {}): boolean {
  const policies = render((chart) => new NetworkPolicies(chart, 'NetworkPolicies', props)) as NetworkPolicy[]
  return mayReach({ policies, namespaces: NAMESPACES }, from, to, destination)
}

describe('NetworkPolicies', () => {
  it('are, in full', () => {
    const props = { importers: { deniedRanges: ['10.0.0.0/8', 'fd00::/8'] } }
    expect(render((chart) => new NetworkPolicies(chart, 'NetworkPolicies', props))).toMatchSnapshot()
  })

  it('let metrics be read from the chosen namespaces alone, and probes come from anywhere', () => {
    const metrics = { port: 8080 }
    expect(reaches(pod('monitoring', {}), OPERATOR, metrics)).toBe(true)
    expect(reaches(pod('team', {}), OPERATOR, metrics)).toBe(false)
    const chosen = { metricsFrom: { team: 'true' } }
    expect(reaches(pod('monitoring', {}), OPERATOR, metrics, chosen)).toBe(false)
    expect(reaches(pod('team', {}), OPERATOR, metrics, chosen)).toBe(true)
    expect(reaches(at('192.168.1.1'), OPERATOR, { port: 8081 })).toBe(true)
    expect(reaches(pod('monitoring', {}), OPERATOR, { port: 9229 })).toBe(false)
  })

  it('let the operator ask DNS and the API server, and nobody else', () => {
    for (const port of [443, 6443]) expect(reaches(OPERATOR, at('172.16.0.10'), { port })).toBe(true)
    for (const protocol of ['UDP', 'TCP'] as const)
      expect(reaches(OPERATOR, at('169.254.20.10'), { port: 53, protocol })).toBe(true)
    expect(reaches(OPERATOR, at('172.16.0.10'), { port: 80 })).toBe(false)
    expect(reaches(OPERATOR, at('172.16.0.10'), { port: 16443 })).toBe(false)
    expect(reaches(OPERATOR, at('172.16.0.10'), { port: 16443 }, { apiServerPorts: [16443] })).toBe(true)
  })

  it('keep importers from metadata, link-local addresses and what else is denied, and from nothing else', () => {
    const web = { port: 80 }
    for (const address of ['169.254.169.254', '169.254.1.1', '100.100.100.200', 'fe80::1', 'fd00:ec2::254'])
      expect([address, reaches(IMPORTER, at(address), web)]).toEqual([address, false])
    for (const address of ['93.184.215.14', '10.9.8.7', '2001:db8::1'])
      expect([address, reaches(IMPORTER, at(address), web)]).toEqual([address, true])
    const denied = { importers: { deniedRanges: ['10.0.0.0/8', '2001:db8::/32'] } }
    for (const address of ['10.9.8.7', '2001:db8::1']) expect(reaches(IMPORTER, at(address), web, denied)).toBe(false)
    expect(reaches(IMPORTER, at('10.96.0.10'), { port: 53, protocol: 'UDP' }, denied)).toBe(true)
    // CDI reads the progress.
    expect(reaches(pod('kube-system', {}), IMPORTER, { port: 8443 }, denied)).toBe(true)
  })

  it('say nothing about other pods beside the images, or about importers where they are left out', () => {
    expect(reaches(pod('vmdi-farm', {}), at('169.254.169.254'), { port: 80 })).toBe(true)
    expect(reaches(IMPORTER, at('169.254.169.254'), { port: 80 }, { importers: false })).toBe(true)
  })
})
