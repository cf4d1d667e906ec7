import { describe, expect, it } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, POD, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import type { KubeVirtMachine } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { persist } from '../harness/persist.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()

async function instanceOf({ client, namespace }: World, name: string): Promise<KubeObject | undefined> {
  try {
    return await client.get(VIRTUAL_MACHINE_INSTANCE, { namespace, name })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Does what virtctl does: asks KubeVirt by a request in the status. */
async function virtctl({ client, namespace }: World, name: string, action: 'Start' | 'Stop', uid?: string) {
  const stateChangeRequests = [{ action, ...(uid !== undefined && { uid }) }]
  await persist(`${action} of ${name} is asked for`, ['Conflict'], async () => {
    const machine = await client.get<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name })
    const status = { ...machine.status, stateChangeRequests }
    await client.replaceStatus<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, { ...machine, status })
  })
}

describe('spec.runStrategy', () => {
  it('Halted stops the guest and keeps its disk, and Always starts it again from that', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('vm')
    await machines.untilReady('vm', 'Running')
    const disk = machines.disk('vm')?.metadata.uid
    const first = (await instanceOf(world, 'vm'))?.metadata.uid

    await machines.patch('vm', { runStrategy: 'Halted' })
    const off = await machines.untilReady('vm', 'Halted')
    expect(off.status?.message).toContain('its disk stays')
    expect(off.status?.addresses).toBeUndefined()
    await expect.poll(() => instanceOf(world, 'vm')).toBeUndefined()
    // The whole life of another machine: enough time for what must not happen.
    await machines.create('other')
    await machines.untilReady('other')
    expect([await instanceOf(world, 'vm'), machines.get('vm')?.status?.phase]).toEqual([undefined, 'Ready'])
    expect(machines.disk('vm')?.metadata).toMatchObject({ uid: disk })

    await machines.patch('vm', { runStrategy: 'Always' })
    await machines.untilReady('vm', 'Running')
    expect(machines.disk('vm')?.metadata.uid).toBe(disk)
    expect((await instanceOf(world, 'vm'))?.metadata.uid).not.toBe(first)
    await machines.delete('vm', 'other')
    await world.finish()
  })

  it('Halted from the beginning makes the disk, and no guest', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('vm', { runStrategy: 'Halted' })
    await machines.untilReady('vm', 'Halted')
    await world.until('its disk', () => machines.disk('vm')?.status?.phase === 'Succeeded')
    expect(await instanceOf(world, 'vm')).toBeUndefined()
    await machines.delete('vm')
    await world.finish()
  })

  it('Manual leaves it to people, who start and stop the guest', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('vm', { runStrategy: 'Manual' })
    const { status } = await machines.untilReady('vm', 'Halted')
    expect(status?.message).toContain('virtctl start vm')
    const disk = machines.disk('vm')?.metadata.uid
    await virtctl(world, 'vm', 'Start')
    await machines.untilReady('vm', 'Running')
    await virtctl(world, 'vm', 'Stop', (await instanceOf(world, 'vm'))?.metadata.uid)
    await machines.untilReady('vm', 'Halted')
    await expect.poll(() => instanceOf(world, 'vm')).toBeUndefined()
    expect(machines.disk('vm')?.metadata.uid).toBe(disk)
    await machines.delete('vm')
    await world.finish()
  })
})

it('baseVm, baseVmVersion and version are labels of KubeVirt’s machine, its instance and its pod', async () => {
  await using world = await World.start(cluster(), ONE_AT_A_TIME)
  const machines = new Machines(world)
  const { client, namespace } = world
  await machines.create('vm', { baseVm: 'ubuntu-24.04', baseVmVersion: '2.1.2', version: '1.0.0' })
  await machines.untilReady('vm', 'Running')
  const labels = {
    'pelotech.ot/base-vm': 'ubuntu-24.04',
    'pelotech.ot/base-vm-version': '2.1.2',
    'pelotech.ot/version': '1.0.0',
  }
  const selector = Object.entries(labels).map((pair) => pair.join('='))
  for (const type of [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, POD]) {
    const { items } = await client.list(type, { namespace, labelSelector: selector.join() })
    expect(
      items.map(({ metadata }) => metadata.labels),
      type.kind,
    ).toEqual([expect.objectContaining(labels)])
  }
  await machines.delete('vm')
  await world.finish()
})
