import type { VirtualMachineSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  VIRTUAL_MACHINE_RESTORE,
  VIRTUAL_MACHINE_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import type { Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { isToBeRestored, restoreRequest } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { MACHINE } from '../../harness/kinds.ts'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { SimulatedOperator, TEAM } from '../simulated-operator.ts'

const KEY = { namespace: TEAM, name: 'vm' }
const RESTORE = { name: 'before-exam', uid: '8d1f2c', isInPlace: false }
const RESTORED = 'restore-8d1f2c-rootdisk'
const TO_NEW_CLAIM = { name: 'rootdisk', persistentVolumeClaim: { claimName: RESTORED } }

let world: SimulatedOperator
/** What the operator wrote to KubeVirt's machine, the DataVolume and claims. */
let writes: string[]
/** Reasons that the machine has shown, in order. */
let reasons: string[]

const machine = () => world.find<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')
const claim = (name: string) => world.find(PERSISTENT_VOLUME_CLAIM, TEAM, name)
/** Name of the claim that the machine has for its second disk. */
const extra = () =>
  machine()?.spec.template.spec.volumes?.find(({ name }) => name === 'extra')?.persistentVolumeClaim?.claimName ?? ''
const root = () => machine()?.spec.template.spec.volumes?.find(({ name }) => name === 'rootdisk')

/** A machine that has run, and is off. */
async function halted(disks: VirtualMachineSpecInput['disks'] = []): Promise<void> {
  world = await SimulatedOperator.running({}, { disks })
  world.patch(MACHINE, KEY, { spec: { runStrategy: 'Halted' } })
  await world.untilReason('vm', 'Halted')
  await world.until('the guest to be off', () => world.simulated.instance('vm') === undefined)
  writes = []
  reasons = []
  world.onOperatorCommit = ({ type, resource, object }) => {
    const isOurs = resource.group === MACHINE.group
    if (!isOurs) writes.push(`${type} ${resource.kind} ${object.metadata.name}`)
  }
  world.simulated.cluster.onCommit(() => {
    const reason = world.reason('vm')
    if (reason !== undefined && reason !== reasons.at(-1)) reasons.push(reason)
  })
}

async function restored(more: Partial<typeof RESTORE> = {}): Promise<void> {
  world.patch(KUBEVIRT_VIRTUAL_MACHINE, KEY, restoreRequest({ ...RESTORE, ...more }))
  await world.until('the end of the restore', () => {
    const found = machine()
    return found !== undefined && !isToBeRestored(found)
  })
  await world.pass(10 * MINUTE)
}

/** Starts the guest, and returns the names of the claims that it has. */
async function started(): Promise<string[]> {
  world.patch(MACHINE, KEY, { spec: { runStrategy: 'Always' } })
  await world.untilReason('vm', 'Running')
  return disksOfGuest()
}

function disksOfGuest(): string[] {
  const { volumes = [] } = world.simulated.instance('vm')?.spec ?? {}
  return volumes.flatMap(({ dataVolume, persistentVolumeClaim: of }) => dataVolume?.name ?? of?.claimName ?? [])
}

describe('a restore of KubeVirt', () => {
  it('to a new claim gives the machine that disk, for as long as nobody asks otherwise', async () => {
    await halted()
    const { uid } = machine()?.metadata ?? {}
    await restored()
    expect([root(), writes]).toEqual([TO_NEW_CLAIM, []])
    expect(reasons).toEqual(['Halted', 'Restoring', 'Halted'])
    expect(world.toldBy('vm', 'DiskRestored')).toContain(RESTORED)
    // Another process knows it from the cluster alone.
    world.killOperator()
    world.startOperator()
    expect(await started()).toEqual([RESTORED])
    world.patch(MACHINE, KEY, { spec: { resources: { cpu: '4', memory: '2Gi' } } })
    await world.pass(10 * MINUTE)
    expect([root(), machine()?.metadata.uid]).toEqual([TO_NEW_CLAIM, uid])
  })

  it('in place keeps the machine while its claim is deleted, made again and adopted', async () => {
    await halted()
    const { metadata, spec } = machine() ?? {}
    const disk = claim('vm-root')?.metadata.uid
    await restored({ isInPlace: true })
    expect([machine()?.metadata.uid, writes]).toEqual([metadata?.uid, []])
    expect(reasons).toEqual(['Halted', 'Restoring', 'Halted'])
    expect(claim('vm-root')?.metadata.uid).not.toBe(disk)
    expect(await started()).toEqual(['vm-root'])
    expect(machine()?.spec.template.spec.domain.firmware).toEqual(spec?.template.spec.domain.firmware)
  })

  it.each([true, false])('gives it its further disks, too, which are its own (in place: %s)', async (isInPlace) => {
    await halted([{ name: 'extra', size: '1Gi' }])
    const before = claim(extra())?.metadata.uid
    expect(before).toBeDefined()
    await restored({ isInPlace })
    expect([writes, reasons]).toEqual([[], ['Halted', 'Restoring', 'Halted']])
    expect(claim(extra())?.metadata.uid).not.toBe(before)
    expect(await started()).toContain(extra())
    await world.pass(10 * MINUTE)
    expect([world.reason('vm'), machine()?.metadata.uid]).toEqual(['Running', expect.any(String)])
  })

  it('can be repeated, and the old disk can be deleted', async () => {
    await halted()
    await restored()
    world.delete(DATA_VOLUME, TEAM, 'vm-root')
    await world.until('the old disk to be gone', () => claim('vm-root') === undefined)
    await restored({ uid: 'again' })
    expect(writes).toEqual([])
    expect(await started()).toEqual(['restore-again-rootdisk'])
  })

  it.each([
    ['when the restore has ended', true],
    ['when the restore, which has no snapshot and is tried again for ever, is deleted', false],
  ])('that stops the guest itself is left to do so, and the guest starts again %s', async (_when, hasSnapshot) => {
    await halted()
    world.patch(MACHINE, KEY, { spec: { runStrategy: 'Always' } })
    await world.untilReason('vm', 'Running')
    const of = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'vm' }
    const name = { namespace: TEAM, name: 'before-exam' }
    if (hasSnapshot) {
      world.simulated.create(VIRTUAL_MACHINE_SNAPSHOT, name, { spec: { source: of } })
      await world.pass(MINUTE)
    }
    const spec = { target: of, virtualMachineSnapshotName: 'before-exam', targetReadinessPolicy: 'StopTarget' }
    writes = []
    const { metadata } = world.simulated.create(VIRTUAL_MACHINE_RESTORE, name, { spec })
    await world.untilReason('vm', 'Restoring')
    await world.until('the guest to be off', () => world.simulated.instance('vm') === undefined)
    if (!hasSnapshot) {
      await world.pass(60 * MINUTE)
      expect([world.reason('vm'), writes]).toEqual(['Restoring', []])
      world.simulated.cluster.admin.delete(VIRTUAL_MACHINE_RESTORE, name)
    }
    await world.untilReason('vm', 'Running')
    expect(disksOfGuest()).toEqual([hasSnapshot ? `restore-${metadata.uid}-rootdisk` : 'vm-root'])
  })

  it('is not undone while the watches of disks are late', async () => {
    await halted()
    world.network.open({
      do: 'watchFaults',
      fault: 'frozen',
      percent: 100,
      forMs: 10 * MINUTE,
      kind: 'PersistentVolumeClaim',
    })
    await restored({ isInPlace: true })
    expect(writes).toEqual([])
    expect(await started()).toEqual(['vm-root'])
  })
})

describe('a claim of the disk that has no owner for a moment', () => {
  it('is that of the machine, as CDI is told to adopt it', async () => {
    await halted()
    const { uid } = machine()?.metadata ?? {}
    const prepopulated = { metadata: { annotations: { 'cdi.kubevirt.io/storage.prePopulated': 'true' } } }
    world.patch(DATA_VOLUME, { namespace: TEAM, name: 'vm-root' }, prepopulated)
    world.delete(PERSISTENT_VOLUME_CLAIM, TEAM, 'vm-root')
    await world.untilReason('vm', 'Restoring')
    await world.pass(60 * MINUTE)
    expect([world.reason('vm'), writes]).toEqual(['Restoring', []])
    world.simulated.create(
      PERSISTENT_VOLUME_CLAIM,
      { namespace: TEAM, name: 'vm-root', annotations: { 'cdi.kubevirt.io/storage.populatedFor': 'vm-root' } },
      {
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'fast',
          resources: { requests: { storage: '11Gi' } },
        },
      },
    )
    await world.untilReason('vm', 'Halted')
    await world.pass(10 * SECOND)
    expect(await started()).toEqual(['vm-root'])
    expect(machine()?.metadata.uid).toBe(uid)
    expect(reasons).not.toContain('NameConflict')
  })
})
