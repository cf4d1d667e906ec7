import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND, START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK, NO_SOURCE, SOURCE } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  ARTIFACT,
  aMachine,
  anInstance,
  KUBEVIRT,
  PUBLISHED,
  QUEUED,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import {
  aMachineWorld,
  aRunningWorld,
  type MachineWorldOverrides,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { CloneFacts } from '../world.ts'
import { planMachine } from './plan.ts'

const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const writes = (walk: MachineWalk, from = 0) => walk.log.slice(from).filter((line) => !line.startsWith('status'))
const going = <T extends KubeObject>(object: T | undefined): T => {
  if (object === undefined) throw new Error('it is not there')
  return { ...object, metadata: { ...object.metadata, ...GOING } }
}

describe('a clone that CDI has given up', () => {
  it.each<[string, Partial<CloneFacts>, string]>([
    ['what its pod said', DISK.failed, 'PVC Lost'],
    [
      'what its claim said',
      { ...DISK.failed, running: { reason: '', message: '' }, bound: { reason: 'Lost', message: 'claim lost' } },
      'claim lost',
    ],
    [
      'that nothing was said',
      { phase: 'Failed', running: { reason: '', message: '' }, bound: { reason: '', message: '' } },
      'CDI gives no reason',
    ],
  ])('fails the machine, with %s', (_what, disk, text) => {
    const walk = new MachineWalk().settle().disk(disk, false)
    expect([walk.stand, walk.message]).toEqual([
      'Failed/CloneFailed',
      `DataVolume vm-root is Failed: ${text}; fix the cause, then delete the DataVolume: the disk is cloned again`,
    ])
    expect(walk.events.at(-1)).toBe('Warning CloneFailed')
    expect(walk.status.clone).toMatchObject({ name: 'vm-root', sourceRevision: '1a2b3c4d', phase: 'Failed' })
    expect(walk.plan()).toMatchObject({ apply: [], remove: [] })
  })

  it('is made again when somebody deletes it', () => {
    const walk = new MachineWalk().settle().disk(DISK.failed)
    const before = walk.log.length
    walk.set({ clone: going(walk.world.clone) }).settle()
    expect(walk.stand).toBe('Provisioning/Cloning')
    expect(walk.message).toContain('is being deleted: the root disk is recreated when it is gone')
    walk.diskGone().settle()
    expect(writes(walk, before)).toEqual(['apply DataVolume vm-root'])
    expect(walk.disk(DISK.succeeded).start().stand).toBe('Ready/Running')
  })

  it('is given all its time again when somebody deletes it, however late', () => {
    const walk = new MachineWalk().settle().disk(DISK.failed)
    walk
      .after(5 * HOUR)
      .diskGone()
      .settle()
    expect(walk.stand).toBe('Provisioning/Cloning')
  })
})

describe('a clone whose source is gone', () => {
  const lost = (more: Partial<CloneFacts> = {}) => {
    const walk = new MachineWalk().settle().disk({ ...DISK.cloning, ...more }, false)
    return walk.set({ hasCloneSource: false })
  }

  it('is removed as it was seen, unless its source is there after all, and made again from the present artifact', () => {
    const walk = lost()
    expect(walk.plan().remove).toEqual([
      {
        apiVersion: 'cdi.kubevirt.io/v1beta1',
        kind: 'DataVolume',
        namespace: 'team',
        name: 'vm-root',
        uid: 'child-2',
        resourceVersion: '500',
        onlyIf: NO_SOURCE,
      },
    ])
    expect(writes(walk.settle()).at(-1)).toBe('delete DataVolume vm-root')
    expect(walk.events).toContain('Warning CloneSourceGone')
    const artifact = { ...ARTIFACT, name: 'golden-99999999', revision: '99999999' }
    walk
      .diskGone()
      .set({ hasCloneSource: true })
      .image({ ...PUBLISHED, artifact })
    expect(walk.world.clone?.cloneOf).toEqual({ ...SOURCE, name: 'golden-99999999' })
    expect(walk.status.clone).toMatchObject({ sourceRevision: '99999999' })
  })

  it('is not made again as long as the image names what is gone', () => {
    const walk = lost().settle()
    const before = walk.log.length
    walk.diskGone().settle()
    expect([walk.stand, walk.condition('ImageReady')]).toEqual([
      'Provisioning/CloneSourceGone',
      expect.objectContaining({ status: 'False', reason: 'CloneSourceGone' }),
    ])
    expect(walk.message).toContain(
      'VolumeSnapshot farm/golden-1a2b3c4d, the artifact in the status of VMDiskImage farm/golden, does not exist',
    )
    expect(walk.plan().requeue).toEqual({ afterMs: 10 * SECOND, because: expect.stringContaining('artifact') })
    expect(walk.after(10 * HOUR).stand).toBe('Provisioning/CloneSourceGone')
    expect(writes(walk, before)).toEqual([])
    walk.set({ hasCloneSource: true }).settle()
    expect([walk.stand, writes(walk, before)]).toEqual(['Provisioning/Cloning', ['apply DataVolume vm-root']])
  })

  it('is asked for also where only the image is wanted', () => {
    const walk = new MachineWalk({ spec: { ignoreOnDeploy: true }, hasCloneSource: false }).settle()
    expect(walk.stand).toBe('Provisioning/CloneSourceGone')
    expect(walk.set({ hasCloneSource: true }).settle().stand).toBe('Ready/IgnoredOnDeploy')
  })

  it('is of no matter to an image that a machine has its disk of', () => {
    const walk = new MachineWalk().deploy().set({ clone: undefined, hasCloneSource: false }).settle()
    expect([walk.stand, walk.condition('ImageReady')?.status]).toEqual(['Ready/Running', 'True'])
  })

  it('waits for the image where there is no artifact any more', () => {
    const walk = lost()
    walk.settle().diskGone().set({ hasCloneSource: true }).image(QUEUED)
    expect(walk.stand).toBe('Provisioning/WaitingForImage')
    expect(writes(walk.image(PUBLISHED)).at(-1)).toBe('apply DataVolume vm-root')
  })

  it('is looked for every minute, as nobody tells', () => {
    const walk = new MachineWalk().settle().disk(DISK.cloning)
    expect(walk.plan().requeue).toEqual({ afterMs: MINUTE, because: expect.stringContaining('cloned from') })
    walk.now += 30 * MINUTE - 1
    expect(walk.plan().requeue?.afterMs).toBe(1)
    expect(walk.disk(DISK.succeeded).plan().requeue?.because).toContain('ready by then')
  })

  it('is removed however late it is', () => {
    const walk = new MachineWalk({ policy: { kickLimit: 0 } }).settle().disk(DISK.cloning)
    walk.after(HOUR).set({ hasCloneSource: false })
    expect(walk.plan().remove).toHaveLength(1)
    expect(walk.plan().status.phase).toBe('Failed')
  })

  it.each<[string, Partial<CloneFacts>]>([
    ['is complete', DISK.succeeded],
    ['has failed', DISK.failed],
  ])('is left alone when it %s', (_what, disk) => {
    expect(
      lost(disk)
        .settle()
        .log.filter((line) => line.startsWith('delete')),
    ).toEqual([])
  })

  it('is not removed twice', () => {
    const walk = lost().settle()
    const before = walk.log.length
    expect(
      walk
        .after(MINUTE)
        .log.slice(before)
        .filter((line) => line.startsWith('delete')),
    ).toEqual([])
  })
})

describe('a disk that somebody deletes before it has booted', () => {
  it('takes the machine with it, which would hold its claim, and both are made again', () => {
    const walk = new MachineWalk().settle().disk(DISK.cloning)
    const before = walk.log.length
    walk.set({ clone: going(walk.world.clone) }).settle()
    expect(writes(walk, before)).toEqual(['delete VirtualMachine vm'])
    walk.machineGone().diskGone().settle()
    expect(writes(walk, before)).toEqual(['delete VirtualMachine vm', 'apply DataVolume vm-root'])
    expect(walk.disk(DISK.succeeded).start().stand).toBe('Ready/Running')
  })

  it('and that is complete is only waited for', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded)
    const before = walk.log.length
    walk.set({ clone: going(walk.world.clone) }).settle()
    expect(writes(walk, before)).toEqual([])
  })
})

describe('a disk that has booted', () => {
  const booted = { bootedAt: '2026-01-01T00:00:00Z', observedGeneration: 1 }
  const source = { hasCloneSource: false }

  /** What shows that the guest may have written to its disk. */
  const signs: [string, MachineWorldOverrides][] = [
    ['that once ran', { status: booted, instance: undefined }],
    ['that runs', { status: {}, instance: anInstance() }],
    [
      'that runs and is not ready',
      { status: {}, instance: anInstance({ isReady: false }), machine: aMachine(KUBEVIRT.notReady) },
    ],
    ['whose machine is gone', { status: booted, instance: undefined, machine: undefined }],
  ]
  const troubles: [string, MachineWorldOverrides][] = [
    ['its source is gone while CDI says that it clones', { clone: aDisk(DISK.cloning), ...source }],
    ['CDI says that it failed', { clone: aDisk(DISK.failed) }],
    ['it is being deleted', { clone: aDisk({}, GOING), claim: aClaim(GOING) }],
    ['it is being deleted while CDI says that it clones', { clone: aDisk(DISK.cloning, GOING), claim: aClaim(GOING) }],
    ['its DataVolume is gone', { clone: undefined }],
    ['its image is gone', { image: undefined }],
    ['its image has another artifact', { image: aMachineWorld(artifactOf('golden-99999999')).image }],
    ['its time is over', { policy: { vmProvisionTimeoutMs: 1 } }],
  ]

  it.each(
    signs.flatMap(([sign, state]) =>
      troubles.map(([trouble, change]) => [sign, trouble, { ...state, ...change }] as const),
    ),
  )('%s is not touched, nor its machine, when %s', (_sign, _trouble, overrides) => {
    const world = aRunningWorld(overrides)
    for (const now of [START, START + HOUR, START + 10 * HOUR]) {
      const { apply, remove } = planMachine(world, now)
      expect(apply.map(({ kind }) => kind)).not.toContain('DataVolume')
      const kinds: string[] = remove.map(({ kind }) => kind)
      expect(kinds.filter((kind) => kind !== 'VirtualMachineInstance')).toEqual([])
    }
  })

  it('lives on as a claim when its DataVolume is taken away, though its machine is deleted too', () => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    walk.set({ clone: undefined }).machineGone().settle()
    expect(writes(walk, before)).toEqual(['apply VirtualMachine vm'])
    expect(walk.start().stand).toBe('Ready/Running')
  })

  it('lives on as a claim whatever becomes of the image meanwhile', () => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    walk.set({ clone: undefined, image: undefined }).machineGone().settle()
    expect(writes(walk, before)).toEqual(['apply VirtualMachine vm'])
  })
})

function artifactOf(name: string): MachineWorldOverrides {
  const { image } = aMachineWorld()
  return { image: image && { ...image, status: { ...PUBLISHED, artifact: { ...ARTIFACT, name } } } }
}
