import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import { start } from '../../../test/prepared/workspace/workspace-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'

const LAB: WorkspaceSpecInput = {
  internetAccess: 'Enabled',
  containerClusters: [{ name: 'web', containers: [{ name: 'web', image: 'registry.example/web:1' }] }],
}

// Pods may have public addresses with any driver of networks.
it.each(['bridge', 'ovn-layer2'] as const)(
  'access to the internet comes and goes with the policy, leaves out the ranges of the cluster, and changes no pod: %s',
  async (networkDriver) => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' }, spec: { podCIDRs: ['2600:1f18::/80'] } }
    const bench = await start(LAB, (one) => {
      one.client.put(node as KubeObject)
      one.setPolicy({ networkDriver })
    })
    const policies = () =>
      bench.client.all('NetworkPolicy').filter(({ metadata }) => metadata.name === 'allow-internet')
    await bench.work()
    expect([bench.status().phase, bench.status().reason, policies()]).toEqual([
      'Failed',
      'InternetAccessNotAllowed',
      [],
    ])
    const pods = JSON.stringify(bench.client.all('Deployment'))
    expect(pods).toContain('registry.example/web:1')

    bench.setPolicy({ allowInternetAccess: true })
    await bench.work()
    expect([bench.status().phase, policies().length]).toEqual(['Ready', 1])
    expect(JSON.stringify(policies())).toContain('"2600:1f18::/80"')

    bench.setPolicy({ allowInternetAccess: false })
    await bench.work()
    expect([bench.status().reason, policies()]).toEqual(['InternetAccessNotAllowed', []])
    expect(JSON.stringify(bench.client.all('Deployment'))).toBe(pods)
  },
)
