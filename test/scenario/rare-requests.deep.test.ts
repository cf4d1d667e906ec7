import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { MANAGER, POLICY_NAME } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { KubeObject, ObjectKey, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_VOLUME,
  DEPLOYMENT,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  RESOURCE_QUOTA,
  ROLE_BINDING,
  SECRET,
  SERVICE,
} from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { FaultProxy } from '../harness/fault-proxy.ts'
import { MACHINE, WORKSPACE } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

// Requests that the operator sends only in rare situations. It has the permissions for these too.

const PARTS: readonly ResourceType[] = [
  ...[CONFIG_MAP, DEPLOYMENT, NETWORK_ATTACHMENT_DEFINITION, NETWORK_POLICY],
  ...[PERSISTENT_VOLUME_CLAIM, RESOURCE_QUOTA, ROLE_BINDING, SERVICE, NAMESPACE],
]
const POLICY = { localVolumeRoot: '/srv/labs', workspaceQuota: 'pods=50' }
/** More finalizers than the caches keep of an object. */
const MANY = Array.from({ length: 40 }, (_, at) => `somebody.example.com/keep-${at}`)

/** All objects of a kind that a workspace controls. */
async function partsOf({ client }: World, workspace: KubeObject, type: ResourceType): Promise<readonly KubeObject[]> {
  const { items } = await client.list(type, type.namespaced ? { namespace: workspace.metadata.name } : {})
  return items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === workspace.metadata.uid),
  )
}

/** A volume without a claim can be found only by its label. */
function isInUse(part: KubeObject & { readonly status?: { readonly phase?: string } }): boolean {
  return part.kind !== PERSISTENT_VOLUME.kind || part.status?.phase === 'Bound'
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`
}

/** Removes the label by which the operator finds them from all parts of these kinds. Returns which parts these are. */
async function loseLabels(world: World, workspace: KubeObject, types: readonly ResourceType[]): Promise<string[]> {
  const lost: string[] = []
  for (const type of types) {
    const parts = (await partsOf(world, workspace, type)).filter(isInUse)
    expect([type.kind, parts.length > 0]).toEqual([type.kind, true])
    lost.push(...parts.map(idOf))
    for (const { metadata } of parts)
      await world.client.mergePatch(type, metadata, { metadata: { labels: { [LABELS.workspaceUid]: null } } })
  }
  return lost
}

/** The parts of these kinds that have the label. */
async function labelled(world: World, workspace: KubeObject, types: readonly ResourceType[]): Promise<string[]> {
  const parts = (await Promise.all(types.map((type) => partsOf(world, workspace, type)))).flat()
  return parts.filter(({ metadata }) => metadata.labels?.[LABELS.workspaceUid] === workspace.metadata.uid).map(idOf)
}

async function finalizersOf({ client }: World, type: ResourceType, key: ObjectKey): Promise<readonly string[]> {
  return (await client.get(type, key)).metadata.finalizers ?? []
}

describe('on an API server that begins no watch with what exists, and asks who may block a deletion', () => {
  const cluster = useOwnCluster({
    apiServerFlags: {
      'feature-gates': 'WatchList=false',
      'enable-admission-plugins': 'OwnerReferencesPermissionEnforcement',
    },
  })

  it('a workspace is made and removed, also where its parts have lost their labels and others hold it by dozens of finalizers', async () => {
    await using workspaces = await Workspaces.start(cluster(), POLICY)
    const { world } = workspaces
    const { client } = world
    const member = DEPLOYED.containerClusters[0]?.name ?? ''
    const workspace = await workspaces.deploy('rare', {
      ...DEPLOYED,
      owners: [{ kind: 'User', name: 'alice' }],
      services: [{ name: 'front', member, ports: [{ port: 53, protocol: 'UDP' }] }],
    })
    const { name } = workspace.metadata

    // A claim without its label is found by its volume, and vice versa.
    for (const types of [PARTS, [PERSISTENT_VOLUME]]) {
      await world.operator?.stop()
      const lost = await loseLabels(world, workspace, types)
      world.startOperator()
      await expect.poll(() => labelled(world, workspace, types)).toEqual(expect.arrayContaining(lost))
    }
    await workspaces.untilReady(name)
    // A limit that is no longer set.
    await client.mergePatch(
      CONFIG_MAP,
      { namespace: world.operatorNamespace, name: POLICY_NAME },
      { data: { workspaceQuota: null } },
    )
    await expect.poll(() => partsOf(world, workspace, RESOURCE_QUOTA)).toEqual([])
    // Ports that nothing serves any more.
    const policies = async () => (await partsOf(world, workspace, NETWORK_POLICY)).map(idOf)
    const before = await policies()
    await workspaces.patch(name, { containerClusters: [], services: [] })
    await expect.poll(() => partsOf(world, workspace, SERVICE)).toEqual([])
    await expect.poll(async () => before.length - (await policies()).length).toBeGreaterThan(0)
    await workspaces.untilReady(name)

    const [vm] = DEPLOYED.vms
    const held = [
      [MACHINE, { namespace: name, name: vm?.name ?? '' }],
      [WORKSPACE, { name }],
    ] as const
    const own = new Map<ResourceType, readonly string[]>()
    for (const [type, key] of held) {
      own.set(type, await finalizersOf(world, type, key))
      await client.mergePatch(type, key, { metadata: { finalizers: [...(own.get(type) ?? []), ...MANY] } })
    }
    await client.delete(WORKSPACE, { name })
    for (const [type, key] of held) {
      expect(own.get(type)).toHaveLength(1)
      await expect.poll(() => finalizersOf(world, type, key)).toEqual(MANY)
      await client.mergePatch(type, key, { metadata: { finalizers: null } })
    }
    await world.until('the workspace is gone', () => workspaces.get(name) === undefined)
    await world.finish()
  })

  it('a quota of which neither the answer nor the watch has told is met', async () => {
    await using workspaces = await Workspaces.start(cluster(), POLICY)
    const { world } = workspaces
    await world.operator?.stop()
    await using proxy = await FaultProxy.start(cluster(), { kubeconfig: world.operatorKubeconfig })
    proxy.rule = ({ verb, resource, nth }) => {
      if (resource !== 'resourcequotas') return undefined
      if (verb === 'watch') return { type: 'interrupt', how: 'freeze' }
      return verb === 'create' && nth === 1 ? { type: 'lose' } : undefined
    }
    world.operatorKubeconfig = proxy.kubeconfigPath
    world.startOperator()
    const { name } = (await workspaces.deploy('met', { secrets: [{ name: 'values', generate: [{ key: 'root' }] }] }))
      .metadata
    expect(proxy.countOf('get', 'resourcequotas')).toBeGreaterThan(0)
    proxy.rule = undefined
    await workspaces.delete(name)
    await world.finish()
  })

  it('a guest that hangs is restarted, and gets other users by another Secret; one that is off gets another disk, once a live look finds that its own is gone', async () => {
    await using world = await World.start(cluster(), {
      policy: { vmProvisionTimeout: '30s', kickLimit: '1' },
    })
    const machines = new Machines(world)
    const { namespace, simulators } = world
    const revive = simulators.kubevirt.script({ namespace, name: 'hung' }, { type: 'neverReady' })
    await machines.create('hung')
    await expect.poll(() => machines.get('hung')?.status?.kicks?.count).toBe(1)
    revive()
    await expect.poll(() => machines.get('hung')?.status?.phase).toBe('Ready')

    const cloudInit = async () => {
      const { items } = await world.client.list(SECRET, { namespace, labelSelector: `${LABELS.managedBy}=${MANAGER}` })
      return items.map((secret) => secret.metadata.annotations?.[ANNOTATIONS.cloudInit])
    }
    const before = await cloudInit()
    expect(before).toHaveLength(1)
    await machines.patch('hung', { users: [{ name: 'somebody', lock_passwd: true }] })
    await expect.poll(cloudInit).not.toEqual(before)
    await machines.delete('hung')

    await machines.create('off', { runStrategy: 'Halted' })
    await machines.untilReady('off', 'Halted')
    const disk = machines.disk('off')?.metadata
    const isAnother = () => ![undefined, disk?.uid].includes(machines.disk('off')?.metadata.uid)
    await world.client.delete(DATA_VOLUME, disk ?? { name: '' }, { propagationPolicy: 'Background' })
    await world.until('another disk', isAnother)
    await machines.untilReady('off', 'Halted')
    await machines.delete('off')
    await world.finish()
  })
})
