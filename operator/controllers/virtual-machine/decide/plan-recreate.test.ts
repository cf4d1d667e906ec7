import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { anImage, PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { aMachineWorld } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import type { MachineWorld } from '../world.ts'
import { planMachine } from './plan.ts'

const deletions = (walk: MachineWalk) => walk.log.filter((line) => line.startsWith('delete'))
const sized = (diskSize: string) => ({ resources: { cpu: '2', memory: '2Gi', diskSize } })
const OTHER_IMAGE = { vmDiskImageRef: { name: 'other', namespace: 'farm' } }

describe('a disk that is not finished', () => {
  it.each<[string, object, string]>([
    ['another image', OTHER_IMAGE, 'vmDiskImageRef'],
    ['another size', sized('40Gi'), 'resources.diskSize'],
    ['both', { ...OTHER_IMAGE, ...sized('40Gi') }, 'vmDiskImageRef and resources.diskSize'],
  ])('is made again for %s', (_what, change, fields) => {
    const walk = new MachineWalk()
      .settle()
      .disk(DISK.cloning)
      .edit({ ...change })
    const { remove, status } = walk.plan()
    expect(remove).toMatchObject([{ kind: 'DataVolume', name: 'vm-root', resourceVersion: expect.anything() }])
    expect(status.message).toContain(`${fields} changed: the root disk is recreated`)
    expect(walk.settle().stand).toBe('Provisioning/Cloning')
    walk.reap()
    expect(walk.log).toContain('delete DataVolume vm-root')
    expect(walk.log.findLast((line) => !line.startsWith('status'))).toBe('apply DataVolume vm-root')
    expect(walk.settle().plan().remove).toEqual([])
  })

  it.each<[string, object]>([
    ['the same size in other words', sized('40960Mi')],
    ['anything else', { name: 'other' }],
  ])('stays for %s', (_what, change) => {
    const walk = new MachineWalk().edit(sized('40Gi')).settle().disk(DISK.cloning)
    walk.edit({ ...change }).settle()
    expect(deletions(walk)).toEqual([])
  })

  it('that failed is made again for any change of the spec, and for none without one', () => {
    const walk = new MachineWalk().settle().disk(DISK.failed)
    expect(walk.after(MINUTE).stand).toBe('Failed/CloneFailed')
    expect(deletions(walk)).toEqual([])
    walk.edit({ name: 'other' }).settle()
    expect(deletions(walk)).toEqual(['delete DataVolume vm-root'])
    expect(walk.stand).toBe('Provisioning/Cloning')
  })

  it.each<[string, typeof DISK.new | typeof DISK.cloning, boolean, boolean]>([
    ['CDI was at it', DISK.cloning, true, true],
    ['it has no claim yet', DISK.new, false, true],
    ['CDI has not looked at it, and it has a claim: it may be of another life of the cluster', DISK.new, true, false],
  ])('whose source is gone is recreated, or not: %s', (_what, disk, hasClaim, expected) => {
    const walk = new MachineWalk().settle().disk(disk, hasClaim).set({ hasCloneSource: false })
    expect(walk.plan().remove.length > 0).toBe(expected)
  })
})

describe('a disk that is finished', () => {
  it.each<[string, object, string]>([
    ['another image', OTHER_IMAGE, 'vmDiskImageRef changed after the disk was made'],
    ['another size', sized('40Gi'), 'resources.diskSize changed after the disk was made'],
  ])('stays for %s, and that is said', (_what, change, text) => {
    const walk = new MachineWalk()
      .deploy()
      .edit({ ...change })
      .settle()
    expect(deletions(walk)).toEqual([])
    expect(walk.condition('RebuildRequired')).toMatchObject({ status: 'True', message: expect.stringContaining(text) })
  })
})

describe('an image that goes', () => {
  const GOING = anImage(PUBLISHED, { deletionTimestamp: '2026-01-01T00:00:00Z' })

  it.each<[string, Pick<MachineWorld, 'image' | 'imageNamespace'>, string]>([
    ['by itself', { image: GOING, imageNamespace: 'there' }, 'ImageTerminating'],
    ['with its namespace', { image: GOING, imageNamespace: 'terminating' }, 'NamespaceTerminating'],
    ['by itself, and is already gone,', { image: undefined, imageNamespace: 'there' }, 'ImageMissing'],
    [
      'with its namespace, and is already gone,',
      { image: undefined, imageNamespace: 'terminating' },
      'NamespaceTerminating',
    ],
    ['with its namespace, and both are gone,', { image: undefined, imageNamespace: 'missing' }, 'ImageMissing'],
  ])('%s is told to a machine that has a disk of it, once', (_how, change, reason) => {
    const walk = new MachineWalk().deploy().set(change).settle()
    expect(walk.stand).toBe('Ready/Running')
    expect(walk.condition('ImageReady')).toMatchObject({ status: 'False', reason })
    walk.after(MINUTE)
    expect(walk.events.filter((line) => line.endsWith(reason))).toEqual([`Warning ${reason}`])
  })

  it('is told with the image that the disk is a copy of, where that is another one', () => {
    const gone = { image: undefined, imageNamespace: 'there' } as const
    const walk = new MachineWalk().deploy().set(gone).settle()
    const said = () => walk.condition('ImageReady')?.message
    expect(said()).toBe('VMDiskImage farm/golden is gone; the disk is a copy of it, and stays')
    walk.edit({ ...OTHER_IMAGE }).settle()
    expect(said()).toBe('VMDiskImage farm/other is gone; the disk is a copy of VMDiskImage farm/golden, and stays')
  })

  it('promises no disk that is not complete', () => {
    const gone = { image: undefined, imageNamespace: 'there' } as const
    const walk = new MachineWalk().settle().disk(DISK.cloning).set(gone).settle()
    expect(walk.condition('ImageReady')?.message).toBe(
      'VMDiskImage farm/golden is gone; no disk can be cloned from it until it exists again',
    )
  })
})

it('a claim whose DataVolume is gone stays when the machine goes, and that is said in time', () => {
  const walk = new MachineWalk().deploy()
  const { claim } = walk.world
  if (claim === undefined) throw new Error('no claim')
  const { ownerReferences: _owner, ...metadata } = claim.metadata
  walk.set({ clone: undefined, claim: { ...claim, metadata } }).settle()
  expect([walk.stand, walk.message]).toEqual([
    'Ready/Running',
    expect.stringContaining(
      'PersistentVolumeClaim vm-root has no owner: it is kept when the virtual machine is deleted',
    ),
  ])
  expect(walk.markDeleted().settle().message).toContain('PersistentVolumeClaim vm-root is not deleted')
})

it('a size that is less than that of the image is warned of by the image as it is', () => {
  const { status } = planMachine(aMachineWorld({ spec: { ...sized('1Gi') } }), 0)
  expect(status.conditions?.find(({ type }) => type === 'SpecWarning')?.reason).toBe('DiskSmallerThanImage')
})
