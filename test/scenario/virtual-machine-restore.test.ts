import { expect, it } from 'vitest'
import { KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import type { Machine } from '../../sandbox/simulators/kubevirt-models.ts'
import { isToBeRestored, restoreRequest } from '../../sandbox/simulators/kubevirt-restores.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()

const machineOf = async ({ client, namespace }: World, name: string) =>
  await client.get<Machine>(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name })
const volumesOf = async (world: World, name: string) => (await machineOf(world, name)).spec.template.spec.volumes ?? []

const RESTORES = {
  'to-new': { uid: '8d1f2c', isInPlace: false, claimName: 'restore-8d1f2c-rootdisk' },
  'in-place': { uid: '9e2a3d', isInPlace: true, claimName: 'in-place-root' },
} as const

it('what KubeVirt writes into its machine stays: a restore to a new claim or in place, and a volume that was added', async () => {
  await using world = await World.start(cluster(), ONE_AT_A_TIME)
  const machines = new Machines(world)
  const { client, namespace } = world
  const claimOf = async (name: string) => {
    return (await client.get(PERSISTENT_VOLUME_CLAIM, { namespace, name: `${name}-root` })).metadata.uid
  }
  const before = new Map<string, readonly unknown[]>()
  for (const name of Object.keys(RESTORES)) await machines.create(name, { runStrategy: 'Halted' })
  for (const [name, { uid, isInPlace }] of Object.entries(RESTORES)) {
    const key = { namespace, name }
    const patchVolumes = async (volumes: readonly object[]) =>
      await client.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, key, { spec: { template: { spec: { volumes } } } })
    await machines.untilReady(name, 'Halted')
    before.set(name, [(await machineOf(world, name)).metadata.uid, await claimOf(name)])

    const added = { name: 'data', persistentVolumeClaim: { claimName: 'data', hotpluggable: true } }
    const dump = { name: 'dump', memoryDump: { claimName: 'dump', hotpluggable: true } }
    const volumes = [...(await volumesOf(world, name)), added, dump]
    await patchVolumes(volumes)
    const told = await machines.until(name, 'told what others added', (vm) => {
      return conditionOf(vm, 'AddedByOthers') !== undefined
    })
    expect(conditionOf(told, 'AddedByOthers')?.message).toContain('volume data, volume dump')
    expect(await volumesOf(world, name)).toEqual(volumes)
    // Snapshots include no volume whose claim does not exist.
    await patchVolumes(volumes.slice(0, 2))

    await client.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, key, restoreRequest({ name: 'before', uid, isInPlace }))
    await expect.poll(async () => isToBeRestored(await machineOf(world, name))).toBe(false)
    await machines.until(name, 'told of the restore', (vm) => conditionOf(vm, 'DiskRestored') !== undefined)
    await machines.patch(name, { runStrategy: 'Always' })
  }
  for (const name of Object.keys(RESTORES)) await machines.untilReady(name, 'Running')
  // The whole life of another machine: enough time for what must not happen.
  await machines.untilAnotherRuns()
  for (const [name, { isInPlace, claimName }] of Object.entries(RESTORES)) {
    expect((await volumesOf(world, name))[0]).toEqual({ name: 'rootdisk', persistentVolumeClaim: { claimName } })
    const [machine, claim] = before.get(name) ?? []
    expect((await machineOf(world, name)).metadata.uid).toBe(machine)
    expect((await claimOf(name)) === claim, name).toBe(!isInPlace)
  }
  await machines.delete(...Object.keys(RESTORES), 'other')
  await world.finish()
})
