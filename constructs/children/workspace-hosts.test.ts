import { describe, expect, it } from 'vitest'
import { parseWorkspaceSpec, type WorkspaceSpec } from '../api/workspace.ts'
import { renderContainerCluster } from './workspace-containers.ts'
import { hostAliasesOf, renderClusterHosts } from './workspace-hosts.ts'
import { renderWorkspaceMachine } from './workspace-machine.ts'
import { clusterWarnings, machineNetworkWarnings } from './workspace-warnings.ts'

const workspace = { name: 'lab', uid: 'lab-uid' }
const image = 'registry.example/app:1'
const SPEC = {
  names: 'hosts',
  networks: [{ name: 'red' }, { name: 'blue' }, { name: 'far' }],
  vms: [
    {
      name: 'web',
      interfaces: [
        { network: 'red', ipAddresses: ['10.0.0.2/24', 'fd00::2/64'] },
        { network: 'far', ipAddress: '10.9.0.2/24' },
      ],
    },
    { name: 'guest', interfaces: [{ network: 'red', addressing: 'dhcp' }] },
    { name: 'away', interfaces: [{ network: 'far', ipAddress: '10.9.0.3/24' }] },
    { name: 'localhost', interfaces: [{ network: 'red', ipAddress: '10.0.0.6/24' }] },
  ].map((vm) => ({ ...vm, backingVMDiskImage: 'golden', instancetype: { name: 'u1.small' } })),
  containerClusters: [
    {
      name: 'router',
      interfaces: [
        { network: 'blue', ipAddress: '10.1.0.1/24' },
        { network: 'red', ipAddress: '10.0.0.1/24' },
      ],
    },
    { name: 'plain', interfaces: [{ network: 'red' }] },
    { name: 'alone' },
  ].map((cluster) => ({ ...cluster, containers: [{ name: 'c', image }] })),
}

function parsed(spec: unknown): WorkspaceSpec {
  const result = parseWorkspaceSpec(spec)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.spec
}

const clusterOf = (spec: WorkspaceSpec, name: string) => {
  const cluster = spec.containerClusters?.find((one) => one.name === name)
  if (cluster === undefined) throw new Error(name)
  return { workspace, spec, cluster, driver: 'bridge' as const }
}
const linesOf = (spec: WorkspaceSpec, name: string) =>
  renderClusterHosts(clusterOf(spec, name)).flatMap(({ data }) => data.hosts.split('\n').slice(5, -1))

describe('the names that a member knows', () => {
  it('are those of all static addresses on its own networks, its own included', () => {
    expect(linesOf(parsed(SPEC), 'router')).toEqual([
      '10.1.0.1 router',
      '10.0.0.1 router',
      '10.0.0.2 web',
      'fd00::2 web',
    ])
    // Without an address of its own, its name leads to itself.
    expect(linesOf(parsed(SPEC), 'plain')).toEqual([
      '127.0.1.1 plain',
      '10.0.0.1 router',
      '10.0.0.2 web',
      'fd00::2 web',
    ])
  })

  const named = ({ web = {}, router = {} }: { readonly web?: object; readonly router?: object }) => {
    const { vms, containerClusters, ...more } = SPEC
    return {
      ...more,
      vms: vms.map((vm) => ({ ...vm, ...(vm.name === 'web' && web) })),
      containerClusters: containerClusters.map((one) => ({ ...one, ...(one.name === 'router' && router) })),
    }
  }

  it('include aliases, and a host name for its own containers alone', () => {
    const aliases = { web: { aliases: ['www', 'www.lab.example', 'www'] } }
    const spec = parsed(named({ ...aliases, router: { hostname: 'r1' } }))
    expect(linesOf(spec, 'router')).toEqual([
      '10.1.0.1 router r1',
      '10.0.0.1 router r1',
      '10.0.0.2 web www www.lab.example',
      'fd00::2 web www www.lab.example',
    ])
    expect(linesOf(spec, 'plain')).not.toContainEqual(expect.stringContaining('r1'))
    expect(renderContainerCluster(clusterOf(spec, 'router')).spec.template.spec.hostname).toBe('r1')
    // A machine whose address nobody knows is not in the file. So its name is free there.
    const asGuest = parsed(named({ router: { hostname: 'guest' } }))
    expect(linesOf(asGuest, 'router')).toContain('10.0.0.1 router guest')
    // Nobody is restarted for an alias.
    const without = parsed(named({ router: { hostname: 'r1' } }))
    expect(renderContainerCluster(clusterOf(spec, 'router'))).toEqual(
      renderContainerCluster(clusterOf(without, 'router')),
    )
  })

  it.each([
    ['plain', /has "plain", which is a name of plain, too: leave it to one of them/],
    ['both', /has "both", which is a name of web, too/],
    ['ip6-loopback', /has "ip6-loopback", which is a name that each host has for itself/],
    ['a\nb', /has "a\\nb", which is no host name: take lower-case/],
    ['A', /has "A", which is no host name/],
  ])('do not include the alias %j, which is warned of', (alias, wrong) => {
    const spec = parsed(named({ web: { aliases: ['both', 'www'] }, router: { aliases: [alias, 'gw'] } }))
    const both = alias === 'both' ? '' : 'both '
    expect(linesOf(spec, 'router')).toEqual([
      '10.1.0.1 router gw',
      '10.0.0.1 router gw',
      `10.0.0.2 web ${both}www`,
      `fd00::2 web ${both}www`,
    ])
    expect(clusterWarnings(clusterOf(spec, 'router'))).toEqual([expect.stringMatching(wrong)])
  })

  it('include aliases only where they have an effect, which is warned of', () => {
    const words = { aliases: ['x'], hostname: 'web' }
    const { names: _names, ...off } = named({ router: words })
    expect(clusterWarnings(clusterOf(parsed(off), 'router'))).toEqual([
      'aliases has no effect without names: hosts of the workspace',
    ])
    const away = { ...words, interfaces: [{ network: 'red' }] }
    expect(clusterWarnings(clusterOf(parsed(named({ router: away })), 'router'))).toEqual([
      'aliases has no effect, since it has no ipAddress on a network of the workspace',
      'its hostname web is a name of web, too, so in its containers it may lead there: take another one',
    ])
  })

  it('do not depend on the order of the spec', () => {
    const { vms, containerClusters, ...more } = SPEC
    const other = parsed({ ...more, vms: vms.toReversed(), containerClusters: containerClusters.toReversed() })
    const [, guest] = parsed(SPEC).vms ?? []
    expect(hostAliasesOf(other, guest ?? {})).toEqual(hostAliasesOf(parsed(SPEC), guest ?? {}))
    expect(hostAliasesOf(other, guest ?? {})).toHaveLength(3)
  })

  it('are in a file that the pod template does not change with', () => {
    const { vms, ...more } = SPEC
    const before = clusterOf(parsed(SPEC), 'router')
    const after = clusterOf(parsed({ ...more, vms: vms.slice(1) }), 'router')
    expect(renderContainerCluster(after)).toEqual(renderContainerCluster(before))
    const [one, other] = [renderClusterHosts(before), renderClusterHosts(after)]
    expect([other[0]?.metadata, other[0]?.data.hosts === one[0]?.data.hosts]).toEqual([one[0]?.metadata, false])
    const { spec } = renderContainerCluster(before).spec.template
    expect(spec.containers[0]?.volumeMounts).toEqual([
      { name: 'hosts', mountPath: '/etc/hosts', subPath: 'hosts', readOnly: true },
    ])
    expect(spec.volumes).toMatchObject([{ projected: { sources: [{ configMap: { name: 'router-hosts' } }] } }])
  })

  it('are given to Linux guests, and Windows is warned of', () => {
    const [web] = SPEC.vms
    const windows = { ...web, os: 'windows', name: 'win', interfaces: [{ network: 'red', ipAddress: '10.0.0.9/24' }] }
    const spec = parsed({ ...SPEC, vms: [web, windows] })
    const [linux, other] = (spec.vms ?? []).map((vm) => {
      const machine = renderWorkspaceMachine({ workspace, spec, vm, driver: 'bridge', imageNamespace: 'farm' })
      return [machine.spec.hostAliases, machineNetworkWarnings(spec, vm)] as const
    })
    expect(linux).toEqual([
      [
        { ip: '10.0.0.1', hostnames: ['router'] },
        { ip: '10.0.0.2', hostnames: ['web'] },
        { ip: 'fd00::2', hostnames: ['web'] },
        { ip: '10.9.0.2', hostnames: ['web'] },
        { ip: '10.0.0.9', hostnames: ['win'] },
      ],
      [],
    ])
    expect(other).toEqual([undefined, [expect.stringContaining('names: hosts does not reach Windows')]])
  })

  it('are bounded, which is warned of', () => {
    const [router] = SPEC.containerClusters
    const many = Array.from({ length: 49 }, (_, at) => ({
      ...router,
      name: `c${at}`,
      interfaces: ['red', 'blue', 'far'].map((network) => ({
        network,
        ipAddresses: Array.from({ length: 4 }, (_address, host) => `10.0.${at + 1}.${10 * host + network.length}/16`),
      })),
    }))
    const props = clusterOf(parsed({ ...SPEC, vms: [], containerClusters: many }), 'c0')
    expect(hostAliasesOf(props.spec, props.cluster)).toHaveLength(512)
    expect(clusterWarnings(props)).toEqual([expect.stringMatching(/^it gets the first 512 of 588 addresses/)])
  })

  it('reach nobody without names: hosts, or without a network', () => {
    const { names: _names, ...more } = SPEC
    const clusters = [clusterOf(parsed(more), 'router'), clusterOf(parsed(SPEC), 'alone')]
    for (const props of clusters) {
      expect(renderClusterHosts(props)).toEqual([])
      expect(JSON.stringify(renderContainerCluster(props))).not.toContain('hosts')
    }
  })

  it('do not take the place of a file of the spec, which is warned of', () => {
    const files = [{ path: '/etc/hosts', content: '127.0.0.1 localhost\n' }]
    const containers = [
      { name: 'own', image, files },
      { name: 'other', image },
    ]
    const [router, ...more] = SPEC.containerClusters
    const props = clusterOf(parsed({ ...SPEC, containerClusters: [{ ...router, containers }, ...more] }), 'router')
    const mounts = renderContainerCluster(props).spec.template.spec.containers.map(({ volumeMounts = [] }) =>
      volumeMounts.map(({ name }) => name),
    )
    expect(mounts).toEqual([['files'], ['hosts']])
    expect(clusterWarnings(props)).toEqual([expect.stringMatching(/^container own has a \/etc\/hosts of its own/)])
  })
})
