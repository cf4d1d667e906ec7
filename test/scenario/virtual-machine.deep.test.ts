import { type VirtualMachineStatus, virtualMachine } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject, Raw, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CUSTOM_RESOURCE_DEFINITION,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { refuseCreation } from '../harness/refusal.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const { group, version, kind, plural, apiVersion } = virtualMachine
const MACHINE: ResourceType = { group, version, kind, plural, namespaced: true }
const CHILDREN = [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, DATA_VOLUME, SECRET]

interface Machine extends KubeObject {
  readonly status?: VirtualMachineStatus
}

describe('a virtual machine on a real API server', () => {
  const cluster = useCluster()

  it('is made with its image, holds the image as long as it lives, and leaves nothing, with the rights that the operator is installed with', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const { namespace, client } = world
    const key = { namespace, name: 'vm' }
    const look = () => find<Machine>(world, MACHINE, 'vm')
    await world.createNetwork('control-net')
    await client.create(MACHINE, manifest(world))

    await expect.poll(async () => (await look())?.status?.phase).toBe('Ready')
    const status = (await look())?.status
    const { artifact } = (await world.untilSynced('golden')).status ?? {}
    expect(status).toMatchObject({
      addresses: ['10.10.0.161'],
      image: { namespace, name: 'golden', revision: artifact?.revision },
    })
    // The state of the image does not matter to a machine that has a disk.
    expect(status?.image).not.toHaveProperty('phase')
    expect(world.getImage('golden')?.metadata.labels).toMatchObject({ 'pelotech.ot/created-by': 'VirtualMachine' })
    expect(world.downloads('golden')).toBe(1)

    await world.deleteImage('golden')
    await world.until('the image waits for the machine', () =>
      world.getImage('golden')?.status?.conditions?.find(({ type }) => type === 'DeletionBlocked'),
    )
    await client.delete(MACHINE, key)
    await expect.poll(look).toBeUndefined()
    await world.untilGone('golden')
    for (const type of CHILDREN) {
      const { items } = await client.list(type, { namespace })
      expect(items.map(({ metadata }) => metadata.name)).toEqual([])
    }
    await world.finish()
  })

  it('tells what the API server refuses, and goes on when it is taken', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const { namespace, client } = world
    const allow = await refuseCreation(world, {
      namespace,
      group: SECRET.group,
      version: SECRET.version,
      resource: SECRET.plural,
      message: 'no Secrets here',
      probe: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'probe' } },
    })
    await world.createNetwork('control-net')
    await client.create(MACHINE, manifest(world))
    const look = () => find<Machine>(world, MACHINE, 'vm')
    await expect.poll(async () => (await look())?.status?.message).toContain('the API server rejected the change: ')
    expect((await look())?.status?.message).toContain('no Secrets here')
    await allow()
    // A refused write is retried after up to a minute.
    await expect.poll(async () => (await look())?.status?.phase).toBe('Ready')
    await client.delete(MACHINE, { namespace, name: 'vm' })
    await expect.poll(look).toBeUndefined()
    await world.finish()
  })

  it('says that a KubeVirt is too old for a field, instead of running without it, and goes on when it is upgraded', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const { namespace, client } = world
    const { plural, group, version } = KUBEVIRT_VIRTUAL_MACHINE
    const key = { name: `${plural}.${group}` }
    const { spec }: Raw = await client.get(CUSTOM_RESOURCE_DEFINITION, key)
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    const properties = { spec: { type: 'object', properties: { runStrategy: { type: 'string' } } }, status: open }
    const older = spec.versions.map((one: Raw) =>
      one.name === version ? { ...one, schema: { openAPIV3Schema: { type: 'object', properties } } } : one,
    )
    await client.mergePatch(CUSTOM_RESOURCE_DEFINITION, key, { spec: { versions: older } })
    await world.createNetwork('control-net')
    await client.create(MACHINE, manifest(world))
    const look = async () => (await find<Machine>(world, MACHINE, 'vm'))?.status
    await expect.poll(async () => (await look())?.message).toContain('upgrade what installed this kind')
    expect((await look())?.message).toContain('unknown field "spec.template"')
    expect(await find(world, KUBEVIRT_VIRTUAL_MACHINE, 'vm')).toBeUndefined()
    await client.mergePatch(CUSTOM_RESOURCE_DEFINITION, key, { spec: { versions: spec.versions } })
    // Who watched the older version may still see its fields only: the upgrade has started KubeVirt again.
    await world.restartSimulators()
    await expect.poll(look).toMatchObject({ phase: 'Ready' })
    await client.delete(MACHINE, { namespace, name: 'vm' })
    await expect.poll(look).toBeUndefined()
    await world.finish()
  })

  it('that does not start says why, with the rights that the operator is installed with', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const { namespace, client } = world
    const look = async () => (await find<Machine>(world, MACHINE, 'vm'))?.status
    const ready = async () => (await look())?.conditions?.find(({ type }) => type === 'Ready')
    await client.create(MACHINE, manifest(world))

    await expect.poll(ready).toMatchObject({ status: 'False', reason: 'NetworkMissing' })
    expect((await look())?.message).toContain('NetworkAttachmentDefinition control-net')
    const message = 'failed to setup network for sandbox "<id>": no such bridge'
    const end = world.simulators.kubevirt.script({ namespace }, { type: 'notCreated', message, everyMs: 5_000 })
    await world.createNetwork('control-net')
    await expect.poll(ready).toMatchObject({
      reason: 'PodNotStarting',
      message: expect.stringContaining(
        'FailedCreatePodSandBox: failed to setup network for sandbox "…": no such bridge',
      ),
    })
    end()
    await expect.poll(async () => (await look())?.phase).toBe('Ready')
    await client.delete(MACHINE, { namespace, name: 'vm' })
    await expect.poll(look).toBeUndefined()
    await world.finish()
  })

  it('writes nothing once it runs', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    await world.createNetwork('control-net')
    await world.client.create(MACHINE, manifest(world))
    const look = () => find<Machine>(world, MACHINE, 'vm')
    await expect.poll(async () => (await look())?.status?.phase).toBe('Ready')
    const version = async () => {
      const objects = await Promise.all([
        look(),
        find(world, SECRET, 'vm-cloudinit'),
        find(world, KUBEVIRT_VIRTUAL_MACHINE, 'vm'),
        find(world, DATA_VOLUME, 'vm-root'),
      ])
      return objects.map((object) => object?.metadata.resourceVersion).join()
    }
    await world.untilQuiet()
    // Another machine starts in the meantime, which takes longer than any echo of a write would.
    const before = await version()
    await world.client.create(MACHINE, { ...manifest(world), metadata: { namespace: world.namespace, name: 'other' } })
    await expect.poll(async () => (await find<Machine>(world, MACHINE, 'other'))?.status?.phase).toBe('Ready')
    expect(await version()).toBe(before)
    for (const name of ['vm', 'other']) {
      await world.client.delete(MACHINE, { namespace: world.namespace, name })
      await expect.poll(() => find(world, MACHINE, name)).toBeUndefined()
    }
    await world.finish()
  })
})

function manifest(world: World): Machine {
  const { namespace } = world
  const template = world.image('golden').spec
  const spec = {
    name: 'demo-vm',
    users: [{ name: 'demo', plain_text_passwd: 'demo-pwd', lock_passwd: false }],
    resources: { cpu: '2', memory: '2Gi' },
    interfaces: [{ network: 'control-net', ipAddress: '10.10.0.161/24' }],
    vmDiskImageRef: { name: 'golden' },
    vmDiskImageTemplate: template,
  }
  return { apiVersion, kind, metadata: { namespace, name: 'vm' }, spec } as Machine
}

async function find<T extends KubeObject>(world: World, type: ResourceType, name: string): Promise<T | undefined> {
  try {
    return await world.client.get<T>(type, { namespace: world.namespace, name })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}
