import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { POD } from '../../operator/kube/resource-types.ts'
import { NODE } from '../../sandbox/resource-types.ts'
import type { Pod } from '../../sandbox/simulators/models.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'
import type { World } from '../harness/world.ts'

const cluster = useOwnCluster()

const LAB: WorkspaceSpecInput = {
  networks: [{ name: 'net', cidr: '10.9.0.0/24' }],
  containerClusters: [
    {
      name: 'web',
      interfaces: [{ network: 'net', ipAddress: '10.9.0.10/24' }],
      containers: [{ name: 'main', image: 'registry.example.com/web:1' }],
    },
  ],
}

function podsOf(world: World, namespace: string): KubeObject[] {
  return [...world.mirror.pods.values()].filter(({ metadata }) => metadata.namespace === namespace)
}

const MORE: WorkspaceSpecInput = {
  networks: [{ name: 'net', cidr: '10.9.0.0/24' }],
  volumes: [{ name: 'data', size: '1Gi', localPath: '/data' }],
  containerClusters: [
    ...(LAB.containerClusters ?? []),
    {
      name: 'store',
      interfaces: [{ network: 'net', ipAddress: '10.9.0.11/24' }],
      containers: [
        {
          name: 'main',
          image: 'registry.example.com/store:1',
          volumeMounts: [{ name: 'data', containerPath: '/data' }],
        },
      ],
    },
  ],
}

describe('a workspace with a local volume', () => {
  it('is on the node of its volume, and leaves it for another one that has its folder when it is drained', async () => {
    await using workspaces = await Workspaces.start(cluster(), { localVolumeRoot: '/srv/labs' })
    const { world } = workspaces
    const addNode = (name: string, labels: Readonly<Record<string, string>> = {}) =>
      world.client.create(NODE, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
      })
    await addNode('a-node')
    const { name } = (await workspaces.deploy('placed', MORE)).metadata
    const nodes = () => new Set(podsOf(world, name).map((pod) => (pod as Pod).spec.nodeName))
    await expect.poll(nodes).toEqual(new Set(['node-1']))
    await addNode('z-node', { 'pelotech.ot/local-volumes': 'true' })
    const before = podsOf(world, name)
    await world.client.mergePatch(NODE, { name: 'node-1' }, { spec: { unschedulable: true } })
    for (const { metadata } of before) await world.client.delete(POD, metadata)
    await world.until('all are elsewhere', () =>
      podsOf(world, name).every((pod) => (pod as Pod).spec.nodeName === 'z-node'),
    )
    await workspaces.untilReady(name)
    await world.client.mergePatch(NODE, { name: 'node-1' }, { spec: { unschedulable: null } })
    await workspaces.delete(name)
    await world.finish()
  })
})

describe('a container cluster', () => {
  it('on a node without Multus is not ready, says so, and gets another pod once Multus is there', async () => {
    await using workspaces = await Workspaces.start(cluster())
    const { world } = workspaces
    const mend = world.simulators.workloads.script({}, { type: 'noMultus' })
    const { name } = (await workspaces.create(workspaces.name('unconnected'), LAB)).metadata
    const missing = await workspaces.untilComponent(
      name,
      'ContainerCluster',
      'web',
      ({ reason }) => reason === 'NetworksMissing',
    )
    const pod = await world.until('its pod', () => podsOf(world, name)[0])
    expect(missing.message).toBe(
      `pod ${pod.metadata.name} runs without its networks: it has no interface net1, as Multus has reported nothing: see whether Multus is in the CNI configuration of its node; it is replaced`,
    )
    mend()
    await workspaces.untilReady(name)
    await world.until('the pod was replaced', () =>
      podsOf(world, name).every(({ metadata }) => metadata.uid !== pod.metadata.uid),
    )
    await workspaces.delete(name)
    await world.finish()
  })
})
