import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { POLICY_NAME } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import {
  CONFIG_MAP,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  STORAGE_CLASS,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import { MACHINE, type Machine } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { OPERATOR_NAMESPACE } from '../chronicle.ts'
import { SimulatedOperator, TEAM, TEMPLATE } from '../simulated-operator.ts'

let world: SimulatedOperator

describe('a clone that hangs', () => {
  const stall = () =>
    world.simulated.simulators.cdi.script({ namespace: TEAM, name: 'vm-root' }, { type: 'cloneStalls' })
  const disks = () => world.written.filter((line) => line === 'ADDED DataVolume team/vm-root').length

  it('is made again, and that is the end of it where the next one does not hang', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m' })
    const end = stall()
    world.create('vm')
    await world.until('a kick', () => world.vm('vm')?.status?.kicks?.count === 1)
    expect(world.reason('vm')).toBe('Kicked')
    end()
    await world.untilReady('vm')
    expect([disks(), world.events('vm').filter((reason) => reason === 'Kicked')]).toEqual([2, ['Kicked']])
    expect(world.vm('vm')?.status?.kicks).toBeUndefined()
  })

  it('is made again within the budget, has failed then, and recovers by itself', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m', kickLimit: '2' })
    const end = stall()
    world.create('vm')
    await world.untilReason('vm', 'KickBudgetSpent')
    expect(world.vm('vm')?.status).toMatchObject({ phase: 'Failed', kicks: { count: 2 } })
    await world.pass(60 * MINUTE)
    expect([disks(), world.reason('vm')]).toEqual([3, 'KickBudgetSpent'])
    end()
    await world.untilReady('vm')
    expect(disks()).toBe(3)
  })
})

describe('a disk that is gone under a guest', () => {
  const disk = { namespace: TEAM, name: 'vm-root' }
  const claim = () => world.find(PERSISTENT_VOLUME_CLAIM, TEAM, 'vm-root')

  const disks = () => world.written.filter((line) => line === 'ADDED DataVolume team/vm-root').length
  const guest = () => world.simulated.instance('vm')?.metadata.uid
  const rebuild = (value: string) => {
    const annotations = { [ANNOTATIONS.rebuildRequestedAt]: value }
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { metadata: { annotations } })
  }

  it.each([
    ['its DataVolume', DATA_VOLUME],
    ['its claim', PERSISTENT_VOLUME_CLAIM],
  ])('is told of, and made again only on request, when somebody deletes %s', async (_what, type) => {
    world = await SimulatedOperator.running()
    const { uid } = claim()?.metadata ?? {}
    const before = guest()
    world.delete(type, TEAM, 'vm-root')
    await world.untilReason('vm', 'DiskBeingDeleted')
    await world.pass(30 * MINUTE)
    expect([guest(), claim()?.metadata.uid, world.reason('vm')]).toEqual([before, uid, 'DiskBeingDeleted'])
    world.delete(VIRTUAL_MACHINE_INSTANCE, TEAM, 'vm')
    await world.untilReason('vm', 'DiskLost')
    await world.pass(24 * 60 * MINUTE)
    expect([guest(), claim(), world.reason('vm'), disks()]).toEqual([undefined, undefined, 'DiskLost', 1])
    expect(
      world
        .events('vm')
        .filter((reason) => reason.startsWith('Disk'))
        .toSorted(),
    ).toEqual(['DiskBeingDeleted', 'DiskLost'])
    rebuild('1')
    await world.untilReady('vm')
    expect(disks()).toBe(2)
  })

  it('is told of where a force has taken it from under the guest', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m' })
    world.create('vm')
    await world.untilReady('vm')
    world.simulated.simulators.kubevirt.script({ namespace: TEAM, name: 'vm' }, { type: 'neverReady' })
    await world.untilReason('vm', 'NotReady')
    const before = guest()
    world.delete(DATA_VOLUME, TEAM, 'vm-root')
    await world.untilReason('vm', 'DiskBeingDeleted')
    world.patch(PERSISTENT_VOLUME_CLAIM, disk, { metadata: { finalizers: [] } })
    await world.pass(60 * MINUTE)
    expect([world.find(DATA_VOLUME, TEAM, 'vm-root'), claim(), world.reason('vm')]).toEqual([
      undefined,
      undefined,
      'DiskLost',
    ])
    expect([guest(), world.events('vm')]).toEqual([before, expect.not.arrayContaining(['Kicked'])])
  })

  it('is no disk that CDI makes again while the machine is off', async () => {
    world = await SimulatedOperator.running()
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { runStrategy: 'Halted' } })
    await world.untilReason('vm', 'Halted')
    world.delete(PERSISTENT_VOLUME_CLAIM, TEAM, 'vm-root')
    await world.untilReason('vm', 'DiskLost')
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { runStrategy: 'Always' } })
    await world.pass(60 * MINUTE)
    // It stays, because a guest may have run from it.
    expect([guest(), claim(), world.reason('vm'), disks()]).toEqual([undefined, expect.anything(), 'DiskLost', 1])
    rebuild('1')
    await world.untilReady('vm')
    expect(disks()).toBe(1)
  })
})

describe('a namesake that is being deleted', () => {
  const blank = { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } }

  it.each([
    ['VirtualMachine', KUBEVIRT_VIRTUAL_MACHINE, 'vm', { spec: { runStrategy: 'Halted' } }],
    ['DataVolume', DATA_VOLUME, 'vm-root', { spec: blank }],
    ['Secret', SECRET, 'vm-cloudinit', {}],
  ] as const)('is waited for: a %s', async (kind, type, name, more) => {
    world = await SimulatedOperator.start()
    await world.syncImage('golden')
    const key = { namespace: TEAM, name }
    const foreign = world.simulated.create(type, { ...key, finalizers: ['example.com/hold'] }, more)
    world.delete(type, TEAM, name)
    // Until every watch has reported it.
    await world.pass(MINUTE)
    world.create('vm')
    await world.untilReason('vm', 'NamesakeTerminating')
    // Longer than a machine has to become ready: this wait is not its fault.
    await world.pass(40 * MINUTE)
    expect(world.vm('vm')?.status?.message).toContain(`${kind} ${name}`)
    expect(world.reason('vm')).toBe('NamesakeTerminating')
    expect(world.written.filter((line) => line.startsWith('ADDED') && line.includes(`${TEAM}/`))).toEqual([])
    expect(world.find(type, TEAM, name)?.metadata.uid).toBe(foreign.metadata.uid)
    world.patch(type, key, { metadata: { finalizers: [] } })
    await world.untilReady('vm')
    expect(world.events('vm')).not.toContain('NameConflict')
  })
})

describe('a claim of somebody else in the place of a disk that is gone', () => {
  const uidOfClaim = () => world.find(PERSISTENT_VOLUME_CLAIM, TEAM, 'vm-root')?.metadata.uid

  /** KubeVirt's machine waits for its disk when CDI is uninstalled, which deletes the disk. */
  async function uprooted(beforeThat: () => void): Promise<void> {
    world = await SimulatedOperator.start({}, { cloneMs: MINUTE })
    world.create('vm')
    await world.until('the machine', () => world.simulated.machine('vm') !== undefined)
    beforeThat()
    world.simulated.cluster.uninstall(DATA_VOLUME)
    await world.until('the end of the claim', () => uidOfClaim() === undefined)
  }

  it('starts no guest', async () => {
    await uprooted(() => undefined)
    await world.until('the end of the machine', () => world.simulated.machine('vm') === undefined)
    await world.untilReason('vm', 'CDIMissing')
    world.simulated.createClaim('vm-root')
    const claim = uidOfClaim()
    await world.untilReason('vm', 'NameConflict')
    await world.pass(30 * MINUTE)
    expect([world.simulated.instance('vm'), uidOfClaim()]).toEqual([undefined, claim])
    world.delete(PERSISTENT_VOLUME_CLAIM, TEAM, 'vm-root')
    await world.until('the end of the claim', () => uidOfClaim() === undefined)
    world.simulated.cluster.install(DATA_VOLUME)
    await world.untilReady('vm')
  })

  it.each([
    ['before CDI is back', () => undefined],
    // By then its DataVolume exists, and CDI waits without reporting for what.
    ['when CDI is back', () => world.simulated.cluster.install(DATA_VOLUME)],
  ])('is given back by the guest that was started by it while no operator ran, %s', async (_when, comeBack) => {
    await uprooted(() => world.killOperator())
    world.simulated.createClaim('vm-root')
    const claim = uidOfClaim()
    await world.until('the guest', () => world.simulated.instance('vm')?.status?.phase === 'Running')
    world.delete(PERSISTENT_VOLUME_CLAIM, TEAM, 'vm-root')
    await world.pass(30 * MINUTE)
    expect(uidOfClaim()).toBe(claim)
    comeBack()
    const told: string[] = []
    world.onOperatorCommit = ({ object }) => told.push((object as Machine).status?.message ?? '')
    world.startOperator()
    await world.until('the end of the claim', () => uidOfClaim() !== claim)
    expect(told.join()).toContain('PersistentVolumeClaim vm-root')
    expect(told.join()).toContain('VirtualMachine vm of KubeVirt has no disk from the operator, and is removed')
    world.simulated.cluster.install(DATA_VOLUME)
    await world.untilReady('vm')
    expect(world.find(PERSISTENT_VOLUME_CLAIM, TEAM, 'vm-root')?.metadata.labels).toMatchObject({
      [LABELS.vmUid]: world.vm('vm')?.metadata.uid,
    })
  })
})

describe('a disk larger than its image, where volumes cannot grow', () => {
  const spec = { resources: { cpu: 2, memory: '2Gi', diskSize: '2Gi' } }
  const policy = { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }
  const allowDownloads = () => world.patch(CONFIG_MAP, policy, { data: { concurrency: '1' } })

  it('is told before its image is there, and copied', async () => {
    world = await SimulatedOperator.start({ concurrency: '0' })
    world.create('vm', { ...spec, vmDiskImageTemplate: { ...TEMPLATE, storageClass: 'fixed' } })
    await world.untilReason('vm', 'WaitingForImage')
    expect(world.toldBy('vm', 'SpecWarning')).toMatch(
      /^True NoVolumeExpansion: .*resources\.diskSize asks for more \(2Gi\) than its image has \(1Gi\)/,
    )
    allowDownloads()
    await world.untilReady('vm')
    expect(world.condition('vm', 'SpecWarning')).toBeUndefined()
    expect(world.condition('vm', 'FullCopy')?.status).toBe('True')
  })

  it('is cloned, and nothing is told any more, once volumes can grow', async () => {
    world = await SimulatedOperator.start({ concurrency: '0' })
    world.create('vm', { ...spec, vmDiskImageTemplate: { ...TEMPLATE, storageClass: 'fixed' } })
    await world.until('the warning', () => world.condition('vm', 'SpecWarning')?.status === 'True')
    world.patch(STORAGE_CLASS, { name: 'fixed' }, { allowVolumeExpansion: true })
    await world.until('its end', () => world.condition('vm', 'SpecWarning') === undefined)
    allowDownloads()
    await world.untilReady('vm')
    expect(world.condition('vm', 'FullCopy')).toBeUndefined()
  })
})
