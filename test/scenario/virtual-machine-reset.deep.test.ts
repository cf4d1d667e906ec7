import { ANNOTATIONS } from '@open-terrain/constructs'
import { virtualMachine } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import type { Machine } from '../../sandbox/simulators/kubevirt-models.ts'
import { useCluster } from '../harness/cluster.ts'
import { Machines } from '../harness/machines.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

it('a machine that is reset starts from a new disk, and its old disk is deleted', async () => {
  await using world = await World.start(cluster(), { policy: { concurrency: '1', resetGrace: '0s' } })
  const machines = new Machines(world)
  const { client, namespace } = world
  const machineOf = async () => await client.get<Machine>(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name: 'vm' })
  await machines.create('vm', {})
  await machines.untilReady('vm', 'Running')
  const before = await machineOf()
  const annotations = { [ANNOTATIONS.resetRequestedAt]: '2026-01-02T12:00:00Z' }
  await client.mergePatch(virtualMachine, { namespace, name: 'vm' }, { metadata: { annotations } })
  await machines.until('vm', 'reset', ({ status }) => {
    return status?.clone?.name === 'vm-root-g2' && status.oldDisk === undefined && status.diskUID !== undefined
  })
  await machines.untilReady('vm', 'Running')
  const after = await machineOf()
  const { volumes = [], domain } = after.spec.template.spec
  expect(volumes[0]).toEqual({ name: 'rootdisk', dataVolume: { name: 'vm-root-g2' } })
  expect(domain?.devices?.interfaces).toEqual(before.spec.template.spec.domain?.devices?.interfaces)
  expect(after.metadata.uid).toBe(before.metadata.uid)
  const claims = await client.list(PERSISTENT_VOLUME_CLAIM, { namespace })
  expect(claims.items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('vm-root'))).toEqual([
    'vm-root-g2',
  ])
  await machines.delete('vm')
  await world.finish()
})
