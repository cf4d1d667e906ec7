import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Machine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { isToBeRestored, restoreRequest } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { MACHINE } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { SimulatedOperator, TEAM } from '../simulated-operator.ts'

const [FIRST, SECOND] = ['vm-root', 'vm-root-g2']

async function running(policy: Record<string, string> = {}) {
  const world = await SimulatedOperator.running(policy)
  onTestFinished(() => world.stop())
  const find = <T extends object>(type: Parameters<typeof world.find>[0], name: string) =>
    world.find(type, TEAM, name) as T | undefined
  return {
    world,
    reset: (value: string) =>
      world.patch(
        MACHINE,
        { namespace: TEAM, name: 'vm' },
        { metadata: { annotations: { [ANNOTATIONS.resetRequestedAt]: value } } },
      ),
    root: () => find<Machine>(KUBEVIRT_VIRTUAL_MACHINE, 'vm')?.spec.template.spec.volumes?.[0],
    /** The root disks that are there. */
    disks: () => [FIRST, SECOND, 'vm-root-g3'].filter((name) => find(PERSISTENT_VOLUME_CLAIM, name) !== undefined),
    instance: () => world.find(VIRTUAL_MACHINE_INSTANCE, TEAM, 'vm'),
    mac: () => find<Machine>(KUBEVIRT_VIRTUAL_MACHINE, 'vm')?.spec.template.spec.domain?.devices?.interfaces,
  }
}

describe('a machine that somebody resets', () => {
  it('starts from a new disk, with its addresses, and loses the old disk when its time is over', async () => {
    const { world, reset, root, disks, instance, mac } = await running()
    const [guest, addresses] = [instance()?.metadata.uid, mac()]
    reset('1')
    await world.until('the new disk', () => world.vm('vm')?.status?.oldDisk?.expiresAt !== undefined)
    await world.untilReady('vm')
    expect([root(), disks(), mac()]).toEqual([
      { name: 'rootdisk', dataVolume: { name: SECOND } },
      [FIRST, SECOND],
      addresses,
    ])
    expect(instance()?.metadata.uid).not.toBe(guest)
    await world.pass(59 * MINUTE)
    expect(disks()).toEqual([FIRST, SECOND])
    await world.pass(2 * MINUTE)
    expect([disks(), world.reason('vm')]).toEqual([[SECOND], 'Running'])
    const told = world.events('vm').filter((reason) => /Replac|OldDisk/.test(reason))
    expect(told.toSorted()).toEqual(['OldDiskDeleted', 'OldDiskKept', 'Replacing'])
  })

  it('again before that, is reset again after it', async () => {
    const { world, reset, disks } = await running()
    reset('1')
    await world.until('the new disk', () => world.vm('vm')?.status?.oldDisk?.expiresAt !== undefined)
    reset('2')
    await world.pass(30 * MINUTE)
    expect([disks(), world.reason('vm')]).toEqual([[FIRST, SECOND], 'ReplacementBlocked'])
    await world.pass(31 * MINUTE)
    await world.until('the third disk', () => world.vm('vm')?.status?.clone?.name === 'vm-root-g3')
    expect(disks()).toEqual([SECOND, 'vm-root-g3'])
  })

  it('after a restore, loses the restored disk, and not the one from before the restore', async () => {
    const { world, reset, root, disks } = await running()
    const key = { namespace: TEAM, name: 'vm' }
    const restored = () => world.find(PERSISTENT_VOLUME_CLAIM, TEAM, 'restore-8d1f2c-rootdisk')
    world.patch(MACHINE, key, { spec: { runStrategy: 'Halted' } })
    await world.untilReason('vm', 'Halted')
    world.patch(KUBEVIRT_VIRTUAL_MACHINE, key, restoreRequest({ name: 'before-exam', uid: '8d1f2c', isInPlace: false }))
    await world.until('the restore', () => {
      const machine = world.find(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')
      return restored() !== undefined && machine !== undefined && !isToBeRestored(machine)
    })
    world.patch(MACHINE, key, { spec: { runStrategy: 'Always' } })
    await world.untilReason('vm', 'Running')
    reset('1')
    await world.until('the new disk', () => world.vm('vm')?.status?.oldDisk?.expiresAt !== undefined)
    expect(world.vm('vm')?.status?.oldDisk?.claim).toBe('restore-8d1f2c-rootdisk')
    await world.pass(2 * 60 * MINUTE)
    expect([root(), disks(), restored()]).toEqual([
      { name: 'rootdisk', dataVolume: { name: SECOND } },
      [FIRST, SECOND],
      undefined,
    ])
    reset('2')
    await world.until('the message', () => world.reason('vm') === 'ReplacementBlocked')
    expect(disks()).toEqual([FIRST, SECOND])
  })

  it('and is deleted meanwhile, leaves no disk', async () => {
    const { world, reset, disks } = await running()
    reset('1')
    await world.until('the new disk', () => world.find(DATA_VOLUME, TEAM, SECOND) !== undefined)
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end', () => world.vm('vm') === undefined)
    expect([disks(), world.find(DATA_VOLUME, TEAM, SECOND)]).toEqual([[], undefined])
  })
})
