import { describe, expect, it } from 'vitest'
import { KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import type { Machine } from '../../sandbox/simulators/kubevirt-models.ts'
import { isToBeRestored, restoreRequest } from '../../sandbox/simulators/kubevirt-restores.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()

const machineOf = async ({ client, namespace }: World) =>
  await client.get<Machine>(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name: 'vm' })
const volumesOf = async (world: World) => (await machineOf(world)).spec.template.spec.volumes ?? []

describe('what KubeVirt writes into its machine', () => {
  it.each([
    ['a restore to a new claim', false, { persistentVolumeClaim: { claimName: 'restore-8d1f2c-rootdisk' } }],
    ['a restore in place', true, { persistentVolumeClaim: { claimName: 'vm-root' } }],
  ])('stays: %s, and a volume that was added', async (_what, isInPlace, disk) => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    const { client, namespace } = world
    const key = { namespace, name: 'vm' }
    await machines.create('vm', { runStrategy: 'Halted' })
    await machines.untilReady('vm', 'Halted')
    const { metadata } = await machineOf(world)
    const claim = await client.get(PERSISTENT_VOLUME_CLAIM, { namespace, name: 'vm-root' })

    const added = { name: 'data', persistentVolumeClaim: { claimName: 'data', hotpluggable: true } }
    const dump = { name: 'dump', memoryDump: { claimName: 'dump', hotpluggable: true } }
    const volumes = [...(await volumesOf(world)), added, dump]
    await client.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, key, { spec: { template: { spec: { volumes } } } })
    await machines.until('vm', 'told what others added', (vm) => conditionOf(vm, 'AddedByOthers') !== undefined)
    expect(conditionOf(machines.get('vm'), 'AddedByOthers')?.message).toContain('volume data, volume dump')
    expect(await volumesOf(world)).toEqual(volumes)
    // Snapshots include no volume whose claim does not exist.
    const own = volumes.slice(0, 2)
    await client.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, key, { spec: { template: { spec: { volumes: own } } } })

    await client.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, key, restoreRequest({ name: 'before', uid: '8d1f2c', isInPlace }))
    await expect.poll(async () => isToBeRestored(await machineOf(world))).toBe(false)
    await machines.until('vm', 'told of the restore', (vm) => conditionOf(vm, 'DiskRestored') !== undefined)
    await machines.patch('vm', { runStrategy: 'Always' })
    await machines.untilReady('vm', 'Running')
    // The whole life of another machine: enough time for what must not happen.
    await machines.untilAnotherRuns()
    expect((await volumesOf(world))[0]).toEqual({ name: 'rootdisk', ...disk })
    expect((await machineOf(world)).metadata.uid).toBe(metadata.uid)
    const now = await client.get(PERSISTENT_VOLUME_CLAIM, { namespace, name: 'vm-root' })
    expect(now.metadata.uid === claim.metadata.uid).toBe(!isInPlace)
    await machines.delete('vm', 'other')
    await world.finish()
  })
})
