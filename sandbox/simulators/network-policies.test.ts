import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { Pod } from './models.ts'
import { type Destination, mayReach, type NetworkPolicy } from './network-policies.ts'

const NAMESPACES = ['red', 'blue'].map(
  (name): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
  }),
)
const WEB: Destination = { port: 80 }

function pod(namespace: string, app: string, podIP = '10.244.0.1'): Pod {
  const ports = [{ name: 'web', containerPort: 80 }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name: app, labels: { app } },
    spec: { containers: [{ name: 'main', ports }] },
    status: { podIP },
  }
}

function policy(namespace: string, spec: NetworkPolicy['spec']): NetworkPolicy {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { namespace, name: 'a' }, spec }
}

const reaches = (policies: readonly NetworkPolicy[], from: Pod, to: Pod, destination = WEB) =>
  mayReach({ policies, namespaces: NAMESPACES }, from, to, destination)

const [client, server, stranger] = [pod('red', 'client'), pod('red', 'server'), pod('blue', 'client')]
const DENY = policy('red', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
const OUT = policy('red', { podSelector: {}, policyTypes: ['Egress'], egress: [{}] })
const toServer = (rule: NonNullable<NetworkPolicy['spec']['ingress']>[number]) =>
  policy('red', { podSelector: { matchLabels: { app: 'server' } }, ingress: [rule] })

describe('NetworkPolicies', () => {
  it('close nothing where there are none', () => {
    expect(reaches([], stranger, server)).toBe(true)
    expect(reaches([DENY], stranger, pod('blue', 'server'))).toBe(true)
  })

  it('close both directions of what they name, and either end is enough', () => {
    expect(reaches([DENY], client, server)).toBe(false)
    expect(reaches([DENY], stranger, server)).toBe(false)
    expect(reaches([DENY], client, stranger)).toBe(false)
    expect(reaches([DENY, toServer({})], client, server)).toBe(false)
    expect(reaches([DENY, OUT], client, server)).toBe(false)
    expect(reaches([DENY, OUT, toServer({})], client, server)).toBe(true)
  })

  it('without types are of Ingress alone, unless they have rules of Egress', () => {
    const only = policy('red', { podSelector: {}, ingress: [{}] })
    expect(reaches([only], server, stranger)).toBe(true)
    expect(reaches([policy('red', { podSelector: {}, egress: [] })], server, stranger)).toBe(false)
  })

  it.each<[string, NonNullable<NetworkPolicy['spec']['ingress']>[number], boolean, boolean]>([
    ['pods of its namespace', { from: [{ podSelector: { matchLabels: { app: 'client' } } }] }, true, false],
    [
      'another namespace',
      { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'blue' } } }] },
      false,
      true,
    ],
    ['every namespace', { from: [{ namespaceSelector: {} }] }, true, true],
    [
      'pods of others by expression',
      {
        from: [
          {
            namespaceSelector: {
              matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['red'] }],
            },
            podSelector: { matchLabels: { app: 'client' } },
          },
        ],
      },
      false,
      true,
    ],
    ['a block of addresses', { from: [{ ipBlock: { cidr: '10.244.0.0/16', except: ['10.244.9.0/24'] } }] }, true, true],
    ['no address', { from: [{ ipBlock: { cidr: '10.0.0.0/24' } }] }, false, false],
    ['a port by number', { ports: [{ port: 80 }] }, true, true],
    ['a port by name', { ports: [{ port: 'web' }] }, true, true],
    ['a range of ports', { ports: [{ port: 70, endPort: 90 }] }, true, true],
    ['another port', { ports: [{ port: 81 }] }, false, false],
    ['another protocol', { ports: [{ port: 80, protocol: 'UDP' }] }, false, false],
  ])('open it for %s', (_what, rule, forClient, forStranger) => {
    const policies = [toServer(rule)]
    expect([reaches(policies, client, server), reaches(policies, stranger, server)]).toEqual([forClient, forStranger])
  })

  it('keep the exceptions of a block out', () => {
    const block = toServer({ from: [{ ipBlock: { cidr: '10.244.0.0/16', except: ['10.244.9.0/24'] } }] })
    expect(reaches([block], pod('red', 'client', '10.244.9.7'), server)).toBe(false)
  })
})
