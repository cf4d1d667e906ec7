import { expect, it } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, POD, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import type { KubeVirtMachine } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { persist } from '../harness/persist.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()

const VERSIONS = { baseVm: 'ubuntu-24.04', baseVmVersion: '2.1.2', version: '1.0.0' }
/** On KubeVirt’s machine, its instance and its pod. */
const LABELS_OF_VERSIONS = {
  'pelotech.ot/base-vm': 'ubuntu-24.04',
  'pelotech.ot/base-vm-version': '2.1.2',
  'pelotech.ot/version': '1.0.0',
}

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

it('runStrategy Halted stops the guest and keeps its disk, Always starts it again from that, and Manual leaves it to people', async () => {
  await using world = await World.start(cluster(), ONE_AT_A_TIME)
  const machines = new Machines(world)
  await machines.create('vm', VERSIONS)
  await machines.create('off', { runStrategy: 'Halted' })
  await machines.create('manual', { runStrategy: 'Manual' })
  await machines.untilReady('vm', 'Running')
  const labelSelector = Object.entries(LABELS_OF_VERSIONS).map((pair) => pair.join('='))
  for (const type of [KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, POD]) {
    const { items } = await world.client.list(type, {
      namespace: world.namespace,
      labelSelector: labelSelector.join(),
    })
    const found = items.map(({ metadata }) => metadata.labels)
    expect(found, type.kind).toEqual([expect.objectContaining(LABELS_OF_VERSIONS)])
  }

  const disk = machines.disk('vm')?.metadata.uid
  const first = (await instanceOf(world, 'vm'))?.metadata.uid
  await machines.patch('vm', { runStrategy: 'Halted' })
  const off = await machines.untilReady('vm', 'Halted')
  expect(off.status?.message).toContain('its disk stays')
  expect(off.status?.addresses).toBeUndefined()
  await expect.poll(() => instanceOf(world, 'vm')).toBeUndefined()

  // People start and stop one meanwhile: enough time for what must not happen to the others.
  const { status } = await machines.untilReady('manual', 'Halted')
  expect(status?.message).toContain('virtctl start manual')
  const itsDisk = machines.disk('manual')?.metadata.uid
  await virtctl(world, 'manual', 'Start')
  await machines.untilReady('manual', 'Running')
  await virtctl(world, 'manual', 'Stop', (await instanceOf(world, 'manual'))?.metadata.uid)
  await machines.untilReady('manual', 'Halted')
  await expect.poll(() => instanceOf(world, 'manual')).toBeUndefined()
  expect(machines.disk('manual')?.metadata.uid).toBe(itsDisk)

  await machines.untilReady('off', 'Halted')
  await world.until('its disk', () => machines.disk('off')?.status?.phase === 'Succeeded')
  for (const name of ['off', 'vm']) expect(await instanceOf(world, name), name).toBeUndefined()
  expect(machines.get('vm')?.status?.phase).toBe('Ready')
  expect(machines.disk('vm')?.metadata).toMatchObject({ uid: disk })

  await machines.patch('vm', { runStrategy: 'Always' })
  await machines.untilReady('vm', 'Running')
  expect(machines.disk('vm')?.metadata.uid).toBe(disk)
  expect((await instanceOf(world, 'vm'))?.metadata.uid).not.toBe(first)
  await machines.delete('vm', 'off', 'manual')
  await world.finish()
})
