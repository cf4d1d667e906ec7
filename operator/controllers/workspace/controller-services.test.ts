import { expect, it } from 'vitest'
import { start } from '../../../test/prepared/workspace/workspace-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { NETWORK_POLICY, SERVICE } from '../../kube/resource-types.ts'

it('a service is opened and told as its type can be reached, if the policy allows the type', async () => {
  const withService = (type: 'ClusterIP' | 'NodePort' | 'LoadBalancer', more: object = {}) => ({
    containerClusters: [{ name: 'web', containers: [{ name: 'web', image: 'registry.example/web:1' }] }],
    services: [{ name: 'front', member: 'web', type, ports: [{ port: 80, targetPort: 8080 }], ...more }],
  })
  const bench = await start(withService('ClusterIP'))
  const service = () => bench.client.all('Service')[0] as KubeObject & { readonly spec: Record<string, unknown> }
  const opened = () => bench.client.all('NetworkPolicy').filter(({ metadata }) => metadata.name === 'front-service')
  const told = () => bench.status().components?.find(({ kind }) => kind === 'Service')?.message
  await bench.work()
  expect(told()).toBe('reached by pods of the cluster at front.lab.svc, port 80/TCP')
  expect([bench.status().phase, opened()]).toMatchObject([
    'Ready',
    [{ spec: { ingress: [{ from: [{ namespaceSelector: {} }], ports: [{ port: 8080, protocol: 'TCP' }] }] } }],
  ])

  // Nothing of it is written again because of what Kubernetes has added.
  const writes = () => bench.client.calls.filter(({ verb, kind }) => verb === 'patch' && kind === 'Service').length
  expect([service().spec['clusterIP'], writes()]).toEqual(['10.96.0.10', 0])
  const key = { namespace: 'lab', name: 'front' }
  bench.client.cluster.admin.mergePatch(SERVICE, key, {
    spec: { externalIPs: ['192.0.2.1'], selector: { app: 'other' } },
  })
  await bench.work()
  expect(service().spec['selector']).not.toHaveProperty('app')
  expect([service().spec['externalIPs'], service().spec['clusterIP'], writes()]).toEqual([undefined, '10.96.0.10', 1])

  bench.change(withService('NodePort'))
  await bench.work()
  const refused =
    'service front is of type NodePort, which the policy key allowedServiceTypes does not name: give it another type, or have the policy allow it'
  expect([bench.status().reason, service().spec['type']]).toEqual(['ServiceTypeNotAllowed', 'ClusterIP'])
  expect(told()).toBe(
    `${refused}; one of that name exists and stays as it is: remove it from spec.services to close its ports`,
  )
  bench.client.cluster.admin.delete(SERVICE, key)
  for (const { metadata } of opened()) bench.client.cluster.admin.delete(NETWORK_POLICY, metadata)
  await bench.work()
  expect([told(), bench.client.all('Service'), opened()]).toEqual([refused, [], []])

  bench.setPolicy({ allowedServiceTypes: ['NodePort', 'LoadBalancer'] })
  await bench.work()
  expect(told()).toBe('reached at every node, port 30000 for 80/TCP, and at front.lab.svc')
  expect(opened()).toMatchObject([{ spec: { ingress: [{ ports: [{ port: 8080, protocol: 'TCP' }] }] } }])
  expect(JSON.stringify(opened())).not.toContain('namespaceSelector')

  bench.change(withService('LoadBalancer'))
  await bench.work()
  expect([bench.status().phase, bench.status().reason]).toEqual(['Provisioning', 'LoadBalancerPending'])
  bench.tell(SERVICE, 'lab/front', { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } })
  await bench.work()
  expect([bench.status().phase, told()]).toEqual(['Ready', 'reached at 192.0.2.9, port 80/TCP, and at front.lab.svc'])
  const { services: _, ...without } = withService('ClusterIP')
  bench.change(without)
  await bench.work()
  expect([bench.status().phase, bench.client.all('Service'), opened()]).toEqual(['Ready', [], []])
})
