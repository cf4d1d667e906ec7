import { describe, expect, it } from 'vitest'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { aMachine, anInstance, KUBEVIRT } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { aRunningWorld, type MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { planMachine } from './plan.ts'

const CLAIM = 'restore-8d1f2c-rootdisk'
const RESTORING = { restoring: { restore: 'before-exam' } } as const
const OFF = { instance: undefined, machine: aMachine(KUBEVIRT.stopped) }
const ELSEWHERE = { restoredClaim: CLAIM, isDiskElsewhere: true, clone: undefined, claim: aClaim({ name: CLAIM }) }
/** Somebody writes the root disk of KubeVirt's machine. */
const rootDisk = (volume: object) => ({
  template: {
    volumes: [
      { name: 'rootdisk', ...volume },
      { name: 'cloudinit', cloudInitNoCloud: SECRETS },
    ],
  },
})
const SECRETS = { secretRef: { name: 'vm-cloudinit' }, networkDataSecretRef: { name: 'vm-cloudinit' } }

describe('while KubeVirt restores a machine', () => {
  it.each<[string, MachineWorldOverrides]>([
    ['whose claim is gone for a moment', { claim: undefined }],
    ['whose claim and DataVolume are gone', { clone: undefined, claim: undefined }],
    [
      'whose claim has no owner yet',
      { claim: undefined, foreignClaim: 'PersistentVolumeClaim vm-root', conflict: 'PersistentVolumeClaim vm-root' },
    ],
    ['whose claim is being deleted', { claim: aClaim({ deletionTimestamp: '2026-01-01T00:00:00Z' }) }],
    ['whose disk is unfinished', { clone: aDisk(DISK.cloning), hasCloneSource: false }],
    ['that somebody has changed', { machine: aMachine(KUBEVIRT.stopped, { labels: {} }) }],
    ['whose guest hangs', { instance: anInstance({ isReady: false }), machine: aMachine(KUBEVIRT.notReady) }],
    ['whose Secret is gone', { secret: undefined }],
    ['without an image', { image: undefined }],
  ])('nothing is written, and no clock runs: one %s', (_what, more) => {
    for (const now of [START, START + 10 * HOUR]) {
      const status = { observedGeneration: 1, bootedAt: new Date(START).toISOString() }
      const {
        apply,
        remove,
        touch,
        status: after,
      } = planMachine(aRunningWorld({ ...OFF, status, ...RESTORING, ...more }), now)
      expect([apply, remove, touch]).toEqual([[], [], undefined])
      expect([after.phase, reasonOf(after), after.provisioningSince]).toEqual(['Provisioning', 'Restoring', undefined])
      expect(after.message).toContain('VirtualMachineRestore before-exam')
    }
  })

  it('and has left its DataVolume without a claim, the message says what to do', () => {
    const { status, remove } = planMachine(
      aRunningWorld({ ...OFF, claim: undefined, restoring: { dataVolume: 'vm-root' } }),
      START,
    )
    expect([reasonOf(status), remove]).toEqual(['Restoring', []])
    expect(status.message).toContain(
      'DataVolume vm-root waits for the restored one; if it lasts, restore again, or delete',
    )
  })

  it('and does not respond, this is what the machine says first', () => {
    const neighbours = { KubeVirt: { presence: 'away' } } as const
    const { status, remove } = planMachine(aRunningWorld({ ...OFF, ...RESTORING, neighbours }), START)
    expect([status.phase, reasonOf(status), remove]).toEqual(['Provisioning', 'KubeVirtNotResponding', []])
    expect(status.message).toContain('VirtualMachineRestore before-exam')
  })

  it('it can still be deleted', () => {
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' }
    const { remove } = planMachine(aRunningWorld({ ...OFF, ...RESTORING, metadata }), START)
    expect(remove.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['VirtualMachine vm'])
  })
})

describe('a machine that KubeVirt has restored', () => {
  const restored = () => {
    const walk = new MachineWalk().deploy().set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)
    return walk.tamper(rootDisk({ persistentVolumeClaim: { claimName: CLAIM } })).set(ELSEWHERE)
  }

  it('keeps that disk, and says so once', () => {
    const walk = restored()
    const before = walk.log.length
    expect(
      walk
        .settle()
        .log.slice(before)
        .filter((line) => !line.startsWith('status')),
    ).toEqual([])
    expect(walk.status.restoredClaim).toBe(CLAIM)
    expect(walk.condition('DiskRestored')?.message).toContain(`PersistentVolumeClaim ${CLAIM}`)
    expect(walk.condition('DiskRestored')?.message).toContain('DataVolume vm-root has the disk from before')
    walk.start()
    expect(walk.stand).toBe('Ready/Running')
    expect(walk.events.filter((line) => line.endsWith('DiskRestored'))).toEqual(['Normal DiskRestored'])
  })

  it('keeps that disk when the spec changes', () => {
    const walk = restored().settle().start()
    walk.edit({ resources: { cpu: '4', memory: '4Gi' } }).settle()
    expect(walk.world.machine?.rootClaim).toBe(CLAIM)
  })

  it('is not removed when that disk is gone, and says that it is', () => {
    const walk = restored().settle().set({ claim: undefined }).kubevirt(KUBEVIRT.stopped)
    expect(walk.log).not.toContain('delete VirtualMachine vm')
    expect(walk.message).toContain(
      `the root disk, PersistentVolumeClaim ${CLAIM} of a restore, is gone, with all that the guest has written to it; restore the machine again`,
    )
  })

  it('whose KubeVirt machine was deleted with that disk has the disk from before, and says so', () => {
    const walk = restored().settle().machineGone()
    const before = { restoredClaim: undefined, isDiskElsewhere: false, isRestoredClaimLost: true }
    walk.set({ ...before, clone: aDisk(), claim: aClaim() }).settle()
    expect(walk.world.machine?.rootClaim).toBe('')
    expect(walk.condition('RestoredDiskLost')?.message).toContain(`PersistentVolumeClaim ${CLAIM}`)
    expect(walk.events.at(-1)).toBe('Warning RestoredDiskLost')
    walk.start().after(HOUR)
    expect([walk.status.restoredClaim, walk.condition('RestoredDiskLost')?.status]).toEqual([CLAIM, 'True'])
  })
})

it.each([
  ['a claim', { persistentVolumeClaim: { claimName: 'mine' } }, 'PersistentVolumeClaim mine'],
  ['a DataVolume', { dataVolume: { name: 'mine' } }, 'DataVolume mine'],
])('another root disk that no restore has made is taken back, and that is said: %s', (_what, volume, title) => {
  const walk = new MachineWalk().deploy().tamper(rootDisk(volume))
  const { status } = walk.plan()
  expect(status.conditions?.find(({ type }) => type === 'ChangeUndone')?.message).toContain(title)
  expect(walk.settle().world.machine?.spec).toMatchObject({
    template: { spec: { volumes: [{ name: 'rootdisk', dataVolume: { name: 'vm-root' } }, { name: 'cloudinit' }] } },
  })
  expect(walk.events).toContain('Warning ChangeUndone')
  expect(walk.condition('ChangeUndone')).toBeUndefined()
})
