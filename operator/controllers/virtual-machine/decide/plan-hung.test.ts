import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import { DISK, NO_SOURCE } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  aMachine,
  anImage,
  anInstance,
  KUBEVIRT,
  PUBLISHED,
  TEMPLATE,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import type { CloneFacts, MachineWorld } from '../world.ts'

const LIMIT = 30 * MINUTE
const deletions = (walk: MachineWalk, from = 0) => walk.log.slice(from).filter((line) => line.startsWith('delete'))
const cloning = (overrides: MachineWorldOverrides = {}) => new MachineWalk(overrides).settle().disk(DISK.cloning)
const SAID = { reason: '', message: '' }

describe('a clone that gets no further', () => {
  it('is deleted and made again when its time is over, within the budget, and has failed then', () => {
    const walk = cloning({ policy: { kickLimit: 2 } })
    for (const count of [1, 2]) {
      const before = walk.log.length
      const { uid } = walk.world.clone?.metadata ?? {}
      walk.after(LIMIT - 1)
      expect(deletions(walk, before)).toEqual([])
      walk.now += 1
      expect(walk.plan().status.message).toBe(
        `DataVolume vm-root made no progress for 30 min: it is deleted, and the root disk is cloned again (${count} of 2)`,
      )
      walk.settle()
      expect(walk.status.kicks).toEqual({ count, lastTime: toTime(walk.now), dataVolumeUID: uid })
      expect(walk.stand).toBe('Provisioning/Cloning')
      walk.reap().diskGone().settle()
      // A launcher may hold the claim. It is deleted with the machine that waits for the disk.
      expect(deletions(walk, before)).toEqual(['delete DataVolume vm-root', 'delete VirtualMachine vm'])
      expect(walk.world.clone?.metadata.uid).not.toBe(uid)
      expect([walk.status.clone?.uid, walk.plan().requeue?.afterMs]).toEqual([walk.world.clone?.metadata.uid, MINUTE])
      walk.disk(DISK.cloning)
    }
    const before = walk.log.length
    expect(walk.after(LIMIT).stand).toBe('Failed/KickBudgetSpent')
    expect(walk.message).toBe(
      'restarted or cloned again 2 times, and the root disk makes no progress: the root disk is being cloned, CDI says CloneInProgress; see the events of DataVolume vm-root, and whether CDI and the storage driver run',
    )
    expect(walk.after(10 * HOUR).stand).toBe('Failed/KickBudgetSpent')
    expect(deletions(walk, before)).toEqual([])
    expect(walk.events.filter((line) => /Kick/.test(line))).toEqual([
      'Warning Kicked',
      'Warning Kicked',
      'Warning KickBudgetSpent',
    ])
    // The machine leaves Failed by itself when CDI continues after all.
    expect(walk.disk(DISK.succeeded).start().stand).toBe('Ready/Running')
    expect(walk.status.kicks).toBeUndefined()
  })

  it('is deleted as it was seen, after it was written down', () => {
    const walk = cloning()
    walk.now += LIMIT
    const uid = walk.world.clone?.metadata.uid
    expect(walk.plan().remove).toEqual([
      {
        apiVersion: 'cdi.kubevirt.io/v1beta1',
        kind: 'DataVolume',
        namespace: 'team',
        name: 'vm-root',
        uid,
        resourceVersion: '500',
      },
    ])
    const before = walk.log.length
    walk.settle()
    expect(walk.log.slice(before, before + 2)).toEqual(['status Provisioning/Kicked', 'delete DataVolume vm-root'])
  })

  it('is deleted after a crash between the two, and not counted again', () => {
    const walk = cloning()
    walk.now += LIMIT
    const { status } = walk.plan()
    walk.set({ vm: { ...walk.world.vm, status } }).settle()
    expect(deletions(walk)[0]).toBe('delete DataVolume vm-root')
    expect(walk.status.kicks?.count).toBe(1)
  })

  it('is left alone where it got further before it was deleted, and counted again if it hangs again', () => {
    const walk = cloning()
    walk.now += LIMIT
    const { status } = walk.plan()
    walk.set({ vm: { ...walk.world.vm, status } })
    walk.now += 1
    walk.disk({ progress: '43.0%' })
    expect(deletions(walk.after(LIMIT - 1))).toEqual([])
    walk.after(1)
    expect([deletions(walk)[0], walk.status.kicks?.count]).toEqual(['delete DataVolume vm-root', 2])
  })

  it('is not told as a failure for the moment by which it began later than the time of its machine', () => {
    const walk = new MachineWalk().settle().after(MINUTE).disk(DISK.cloning)
    expect([walk.after(LIMIT - MINUTE).stand, walk.plan().requeue?.afterMs]).toEqual(['Provisioning/Cloning', MINUTE])
    expect(deletions(walk.after(MINUTE))[0]).toBe('delete DataVolume vm-root')
    expect(walk.events.filter((line) => line.startsWith('Warning'))).toEqual(['Warning Kicked'])
  })

  it('is not made again where the policy does not want it', () => {
    const walk = cloning({ policy: { kickLimit: 0 } }).after(LIMIT)
    expect([walk.stand, deletions(walk)]).toEqual(['Failed/KickBudgetSpent', []])
    expect(walk.message).toContain(
      'not cloned again, since the policy key kickLimit is 0: the root disk is being cloned',
    )
  })

  it('has all its budget again with another spec', () => {
    const walk = cloning({ policy: { kickLimit: 0 } }).after(LIMIT)
    walk
      .setPolicy({ kickLimit: 1 })
      .edit({ resources: { cpu: '1', memory: '1Gi' } })
      .settle()
    expect([walk.stand, walk.status.kicks]).toEqual(['Provisioning/Cloning', undefined])
    expect(walk.after(LIMIT).status.kicks?.count).toBe(1)
  })

  it('takes nothing from a guest that hangs later: the budget is one', () => {
    const walk = cloning({ policy: { kickLimit: 1 } }).after(LIMIT)
    walk.reap().diskGone().settle().disk(DISK.succeeded).instance({ isReady: false }).kubevirt(KUBEVIRT.notReady)
    expect(walk.after(LIMIT).stand).toBe('Failed/KickBudgetSpent')
    expect(walk.message).toContain('restarted or cloned again once, and still: ')
    expect(deletions(walk)).not.toContain('delete VirtualMachineInstance vm')
  })
})

describe('a clone that gets further', () => {
  it('is not deleted, however long it takes, and is when it hangs from then on', () => {
    const walk = cloning()
    for (let percent = 43; percent < 50; percent += 1) walk.after(LIMIT - 1).disk({ progress: `${percent}.0%` })
    expect([walk.stand, deletions(walk)]).toEqual(['Failed/Timeout', []])
    expect(walk.plan().requeue).toEqual({ afterMs: LIMIT, because: expect.stringContaining('get further') })
    expect(deletions(walk.after(LIMIT - 1))).toEqual([])
    expect(deletions(walk.after(1))[0]).toBe('delete DataVolume vm-root')
  })

  it('tells when it last did, until it is complete', () => {
    const walk = cloning().after(MINUTE)
    expect(walk.status.clone?.progressTime).toBe(toTime(START))
    expect(walk.disk({ progress: '50.0%' }).status.clone?.progressTime).toBe(toTime(START + MINUTE))
    expect(walk.disk(DISK.succeeded).status.clone?.progressTime).toBeUndefined()
  })
})

describe('a clone is not deleted, however long it is as it is,', () => {
  it.each<[string, Partial<CloneFacts>, Partial<MachineWorld>]>([
    ['when CDI has not looked at it', DISK.new, {}],
    ['when CDI knows nothing of it', { ...DISK.new, phase: 'Unknown' }, {}],
    ['when it waits for a pod that chooses its node', DISK.waiting, {}],
    ['when it waits for a pod to populate it', DISK.populating, {}],
    [
      'when its volume waits for that',
      { phase: 'Pending', bound: { reason: 'Pending', message: 'waiting for first consumer to be created' } },
      {},
    ],
    ['when CDI has given it up', DISK.failed, {}],
    ['when it is complete', DISK.succeeded, {}],
    ['when a quota is full', { phase: 'Pending', bound: { reason: 'ErrExceededQuota', message: '' } }, {}],
    ['when the quota of a pod is full', { running: { reason: 'Error', message: 'pods "x": exceeded quota: q' } }, {}],
    ['when its claim is not valid', { phase: 'Pending', bound: { reason: 'ErrClaimNotValid', message: '' } }, {}],
    ['when it does not suit its source', { bound: { reason: 'CloneValidationFailed', message: '' } }, {}],
    ['when the pod of CDI gets no image', { running: { reason: 'ImagePullFailed', message: '' } }, {}],
    ['when no node can take the pod of CDI', { running: { reason: 'Unschedulable', message: '' } }, {}],
    ['when its StorageClass is missing', {}, { storageClass: undefined }],
    ['when its image is gone', {}, { image: undefined }],
    ['when its image has no artifact any more', {}, { image: anImage({ phase: 'Syncing' }) }],
    [
      'when its image is being deleted',
      {},
      { image: anImage(PUBLISHED, { deletionTimestamp: toTime(START) }, TEMPLATE) },
    ],
    ['when its guest has run', {}, { instance: anInstance({ isReady: false }), machine: aMachine(KUBEVIRT.new) }],
  ])('%s', (_what, disk, change) => {
    const walk = new MachineWalk().settle().disk({ ...DISK.cloning, ...disk })
    walk
      .set(change)
      .settle()
      .after(LIMIT)
      .after(10 * HOUR)
    expect([walk.status.phase, deletions(walk), walk.status.kicks]).toEqual(['Failed', [], undefined])
    expect(walk.status.clone?.progressTime).toBe(change.instance && toTime(START))
  })

  it('while it is being deleted already', () => {
    const walk = cloning()
    const { clone } = walk.world
    if (clone === undefined) throw new Error('no disk')
    walk.set({ clone: { ...clone, metadata: { ...clone.metadata, deletionTimestamp: toTime(START) } } })
    walk.after(LIMIT)
    expect([walk.stand, walk.status.kicks]).toEqual(['Failed/Timeout', undefined])
  })

  it('but for its source, when that is gone: then only where a live look does not find it', () => {
    const walk = cloning().set({ hasCloneSource: false })
    walk.now += 10 * HOUR
    expect(walk.plan().remove).toEqual([expect.objectContaining({ kind: 'DataVolume', onlyIf: NO_SOURCE })])
    expect(walk.plan().status.kicks).toBeUndefined()
  })

  it('and has the whole time again once what it waited for is there', () => {
    const walk = new MachineWalk()
      .settle()
      .disk({ ...DISK.cloning, bound: { reason: 'ErrExceededQuota', message: '' } })
    walk.after(10 * HOUR).disk({ bound: SAID })
    expect([walk.stand, walk.plan().requeue?.afterMs]).toEqual(['Failed/Timeout', LIMIT])
    expect(deletions(walk.after(LIMIT - 1))).toEqual([])
    expect(deletions(walk.after(1))[0]).toBe('delete DataVolume vm-root')
  })
})
