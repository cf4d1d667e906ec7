import { ANNOTATIONS } from '@open-terrain/constructs'
import { deletionWord } from '@open-terrain/constructs/operator'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  RESOURCE_QUOTA,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Machine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { isToBeRestored, restoreRequest } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { MACHINE } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { claimQuota } from '../objects.ts'
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

/** A ResourceQuota of the namespace of machines leaves room for so many claims. It counts a moment later. */
async function allow(world: SimulatedOperator, claims: number): Promise<void> {
  const quota = claimQuota(TEAM, claims)
  if (world.find(RESOURCE_QUOTA, TEAM, quota.metadata.name) === undefined)
    world.simulated.cluster.admin.create(RESOURCE_QUOTA, quota)
  else
    world.patch(RESOURCE_QUOTA, quota.metadata as never, { spec: { hard: { persistentvolumeclaims: String(claims) } } })
  await world.pass(2_000)
}

/** Somebody gives the present disk up, as the status tells. */
function giveUp(world: SimulatedOperator, name = 'vm'): void {
  const vm = world.vm(name)
  const annotations = { [ANNOTATIONS.deleteDiskFirst]: (vm && deletionWord(vm)) ?? 'none' }
  world.patch(MACHINE, { namespace: TEAM, name }, { metadata: { annotations } })
}

describe('a machine whose quota has room for one disk', () => {
  it('waits, costs no write, and goes on at once when there is room', async () => {
    const { world, reset, disks } = await running()
    await allow(world, 1)
    reset('1')
    await world.until('the message', () => world.reason('vm') === 'ReplacementBlocked')
    await world.pass(MINUTE)
    world.written.length = 0
    await world.pass(60 * MINUTE)
    expect([world.written, disks(), world.find(DATA_VOLUME, TEAM, SECOND)]).toEqual([[], [FIRST], undefined])
    await allow(world, 2)
    expect(world.find(DATA_VOLUME, TEAM, SECOND)).toBeDefined()
    await world.until('the new disk', () => world.vm('vm')?.status?.oldDisk?.expiresAt !== undefined)
  })

  it('gets a new one in the place of the present one where somebody gives that up, and once', async () => {
    const { world, reset, disks, instance, mac } = await running()
    const [guest, addresses, uid] = [instance()?.metadata.uid, mac(), claimUid(world)]
    await allow(world, 1)
    reset('1')
    await world.until('the message', () => world.reason('vm') === 'ReplacementBlocked')
    giveUp(world)
    await world.until('the end', () => world.vm('vm')?.status?.replacement === undefined)
    await world.untilReady('vm')
    expect([disks(), mac()]).toEqual([[FIRST], addresses])
    expect(claimUid(world)).not.toBe(uid)
    expect(instance()?.metadata.uid).not.toBe(guest)
    expect(world.events('vm').filter((reason) => /DiskDeletedFirst|DiskLost/.test(reason))).toEqual([
      'DiskDeletedFirst',
    ])
    const made = claimUid(world)
    reset('2')
    await world.until('the message', () => world.reason('vm') === 'ReplacementBlocked')
    await world.pass(60 * MINUTE)
    expect(claimUid(world)).toBe(made)
  })

  it('loses its disk once where somebody gives it up, and gets the new one, wherever the operator crashes', async () => {
    let hasCrashed = true
    for (let at = 0; hasCrashed; at += 1) {
      const { world, reset, disks } = await running()
      await allow(world, 1)
      reset('1')
      await world.until('the message', () => world.reason('vm') === 'ReplacementBlocked')
      const deleted: string[] = []
      world.simulated.cluster.onCommit(({ type, resource, object }) => {
        if (type === 'DELETED' && resource === PERSISTENT_VOLUME_CLAIM) deleted.push(object.metadata.name)
      })
      giveUp(world)
      const crash = world.crashAtWrite(at, 20_000)
      await world.until('the end', () => world.vm('vm')?.status?.replacement === undefined)
      await world.untilReady('vm')
      await world.pass(MINUTE)
      expect([at, disks(), deleted.filter((name) => name.startsWith(FIRST)), world.reason('vm')]).toEqual([
        at,
        [FIRST],
        [FIRST],
        'Running',
      ])
      hasCrashed = crash.hasCrashed
      world.stop()
    }
  })

  it('and that CDI was refused its new one, is told the same, and goes on when there is room', async () => {
    const { world, reset, disks } = await running()
    // It is asked for before the quota is counted.
    const counted = allow(world, 1)
    reset('1')
    await counted
    await world.until('the refusal', () => world.reason('vm') === 'ReplacementBlocked')
    giveUp(world)
    await world.pass(MINUTE)
    expect([disks(), world.reason('vm')]).toEqual([[FIRST], 'ReplacementBlocked'])
    await allow(world, 2)
    await world.until('the end', () => world.vm('vm')?.status?.replacement === undefined)
    await world.untilReady('vm')
    expect(disks()).toEqual([FIRST, SECOND])
  })

  // A quota may be heard of later than the claims that it counts: that depends on the seed.
  it.each([1, 5, 7])(
    'is one of many that are reset at once: as many begin as there is room for, and CDI is asked for no more (seed %d)',
    async (seed) => {
      const world = await SimulatedOperator.running({}, {}, { seed })
      const names = ['vm', 'vm-b', 'vm-c', 'vm-d', 'vm-e']
      for (const name of names.slice(1)) world.create(name)
      for (const name of names) await world.untilReady(name)
      await allow(world, 7)
      for (const name of names) {
        const annotations = { [ANNOTATIONS.resetRequestedAt]: '1' }
        world.patch(MACHINE, { namespace: TEAM, name }, { metadata: { annotations } })
      }
      const begun = () => names.filter((name) => world.find(DATA_VOLUME, TEAM, `${name}-root-g2`) !== undefined)
      const refused = () =>
        begun().filter((name) => world.find(PERSISTENT_VOLUME_CLAIM, TEAM, `${name}-root-g2`) === undefined)
      await world.pass(10 * MINUTE)
      expect([begun().length, refused()]).toEqual([2, []])
      // Their old disks go, and make room.
      await world.pass(60 * MINUTE)
      expect([begun().length, refused()]).toEqual([4, []])
      await world.pass(70 * MINUTE)
      expect([begun().length, refused()]).toEqual([5, []])
      for (const name of names) await world.untilReady(name)
    },
  )
})

const claimUid = (world: SimulatedOperator) => world.find(PERSISTENT_VOLUME_CLAIM, TEAM, FIRST)?.metadata.uid

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
