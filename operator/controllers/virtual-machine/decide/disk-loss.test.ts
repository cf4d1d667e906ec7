import { describe, expect, it } from 'vitest'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK, NO_DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { aMachine, anInstance, KUBEVIRT } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import {
  aRunningWorld,
  type MachineWorldOverrides,
  NO_PASSWORD,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { planMachine } from './plan.ts'

const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const OFF: MachineWorldOverrides = { instance: undefined, machine: aMachine(KUBEVIRT.stopped) }
const GONE: MachineWorldOverrides = { clone: undefined, claim: undefined }
const BOOTED = { observedGeneration: 1, bootedAt: toTime(START), diskUID: 'uid of the claim' }
const REBUILD =
  'by: kubectl -n team annotate virtualmachines.pelotech.ot vm --overwrite pelotech.ot/rebuild-requested-at="$(date)"'
const DAY = 24 * HOUR
const TITLE = 'PersistentVolumeClaim vm-root'

const PRE_POPULATED = { annotations: { 'cdi.kubevirt.io/storage.prePopulated': 'vm-root' } }

const planOf = (more: MachineWorldOverrides, now = START) =>
  planMachine(aRunningWorld({ status: BOOTED, ...more }), now)
const kindsOf = (objects: readonly { readonly kind: string }[]) => objects.map(({ kind }) => kind)
const writes = (walk: MachineWalk) => walk.log.filter((line) => !line.startsWith('status') && !line.includes('Secret'))
const lossIn = (walk: MachineWalk) => walk.condition('DiskLost')?.reason
const off = (walk: MachineWalk) => walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)
const going = <T extends { readonly metadata: object }>(object: T | undefined) =>
  object && { ...object, metadata: { ...object.metadata, ...GOING } }

describe('the disk of a machine that has run', () => {
  it.each<[string, MachineWorldOverrides, string, string]>([
    [
      'is deleted while the guest runs',
      { clone: going(aDisk()), claim: aClaim(GOING) },
      'DiskBeingDeleted',
      'is being',
    ],
    ['is deleted as a claim alone', { claim: aClaim(GOING) }, 'DiskBeingDeleted', 'is being deleted, and is gone when'],
    ['is deleted, and kept by a finalizer', { ...OFF, claim: aClaim(GOING) }, 'DiskBeingDeleted', 'see its finalizers'],
    ['is gone while the guest runs', GONE, 'DiskLost', 'is gone, with all that the guest has written to it, and only'],
    ['is gone, and nothing runs', { ...OFF, ...GONE }, 'DiskLost', REBUILD],
    ['is gone, and so is everything else', { ...GONE, instance: undefined, machine: undefined }, 'DiskLost', REBUILD],
    ['is gone, and so is its image', { ...OFF, ...GONE, image: undefined }, 'DiskLost', REBUILD],
    [
      'is gone, and the machine is to be off',
      { ...OFF, ...GONE, spec: { runStrategy: 'Halted' } },
      'DiskLost',
      REBUILD,
    ],
    ['is gone, and CDI is to make its claim again', { ...OFF, claim: undefined }, 'DiskLost', REBUILD],
    ['is gone with CDI', { ...OFF, ...GONE, hasDataVolumes: false }, 'DiskLost', 'install CDI'],
    ['is gone with its Secret', { ...OFF, ...GONE, secret: undefined, cloudInit: NO_PASSWORD }, 'DiskLost', 'password'],
    [
      'is gone, and somebody else has its name',
      { ...OFF, ...GONE, conflict: TITLE, foreignClaim: TITLE },
      'DiskLost',
      `${TITLE} exists and belongs to somebody else`,
    ],
    ['has lost its volume', { ...OFF, claim: { ...aClaim(), phase: 'Lost' } }, 'DiskLost', 'the claim is Lost'],
    [
      'has lost its volume under the guest',
      { claim: { ...aClaim(), phase: 'Lost' } },
      'DiskLost',
      'save what is needed',
    ],
    [
      'was made again by CDI',
      { ...OFF, claim: aClaim({ uid: 'another' }) },
      'DiskLost',
      'CDI has made another one from the image; to go on with the new one',
    ],
    [
      'was made again by CDI, and booted',
      { claim: aClaim({ uid: 'another' }) },
      'DiskLost',
      'the guest runs from the new',
    ],
    [
      'was restored, and is gone',
      { ...OFF, isDiskElsewhere: true, restoredClaim: 'restore-1-rootdisk', ...GONE },
      'DiskLost',
      'PersistentVolumeClaim restore-1-rootdisk of a restore, is gone, with all that the guest has written to it; restore the machine again',
    ],
    [
      'is there, and KubeVirt’s machine was made to start from the one before its restore',
      { restoredAside: 'restore-1-rootdisk', claim: aClaim({ uid: 'another' }) },
      'DiskLost',
      'PersistentVolumeClaim restore-1-rootdisk, of a restore, and it is still there; the one of now is PersistentVolumeClaim vm-root; restore the machine again',
    ],
    [
      'is there, and KubeVirt’s machine was made to start from the one before its restore, which is gone',
      { ...OFF, restoredAside: 'restore-1-rootdisk', ...GONE },
      'DiskLost',
      'PersistentVolumeClaim restore-1-rootdisk, of a restore, which the guest had before, is still there, and is deleted when a disk is made from the image',
    ],
    [
      'is there, and the one before its restore, which the guest runs from, is being deleted',
      { restoredAside: 'restore-1-rootdisk', claim: aClaim(GOING) },
      'DiskBeingDeleted',
      'and is gone when the guest stops: save what is needed while the guest runs, and do not stop it before',
    ],
    [
      'is there, and the one before its restore has lost its volume',
      { ...OFF, restoredAside: 'restore-1-rootdisk', claim: { ...aClaim({ uid: 'another' }), phase: 'Lost' } },
      'DiskLost',
      'the claim is Lost), with all that the guest has written to it',
    ],
  ])('is told of louder than anything, and none is made, however long it lasts: it %s', (_what, more, reason, text) => {
    for (const now of [START, START + 30 * DAY]) {
      const { status, apply, remove, events } = planOf(more, now)
      expect([status.phase, reasonOf(status), apply]).toEqual(['Failed', reason, []])
      expect(status.message).toContain(text)
      expect(status.conditions?.find(({ type }) => type === 'DiskLost')).toMatchObject({ status: 'True', reason })
      expect(events.filter((event) => event.reason.startsWith('Disk'))).toMatchObject([{ type: 'Warning', reason }])
      expect(status.bootedAt).toBe(BOOTED.bootedAt)
      if (more.instance === undefined && 'instance' in more) continue
      // Whoever runs has the last copy.
      expect(kindsOf(remove)).not.toContain('VirtualMachine')
      expect(kindsOf(remove)).not.toContain('VirtualMachineInstance')
      expect(status.addresses).toEqual(['10.10.0.161'])
    }
  })

  it('keeps the DataVolume that a restore in place fills again, and removes the one that CDI would fill', () => {
    const leaving = { ...OFF, claim: aClaim(GOING) }
    expect(kindsOf(planOf(leaving).remove)).toEqual(['DataVolume'])
    const { status, remove } = planOf({ ...leaving, clone: aDisk({}, PRE_POPULATED) })
    expect([reasonOf(status), remove]).toEqual(['DiskBeingDeleted', []])
  })

  it.each<[string, MachineWorldOverrides]>([
    ['is there', {}],
    ['is of a status of an earlier version', { status: { observedGeneration: 1, bootedAt: toTime(START) } }],
    [
      'is of a status of an earlier version, and was made again',
      { status: { observedGeneration: 1, bootedAt: toTime(START) }, claim: aClaim({ uid: 'another' }) },
    ],
    ['has lost its DataVolume alone', { clone: undefined }],
    ['is to lose its DataVolume alone', { clone: aDisk({}, { ...GOING, finalizers: ['orphan'] }) }],
    ['was put back by a person', { clone: undefined, claim: aClaim({ uid: 'another', ownerReferences: [] }) }],
    ['was restored in place', { restoredClaim: 'vm-root', claim: aClaim({ uid: 'another' }) }],
    [
      'was restored in place, which KubeVirt’s machine does not show',
      { claim: aClaim({ uid: 'another', annotations: { 'cdi.kubevirt.io/storage.populatedFor': 'vm-root' } }) },
    ],
    [
      'is filled by others',
      {
        clone: aDisk({}, PRE_POPULATED),
        claim: aClaim({ uid: 'another' }),
      },
    ],
    ['is the one from before a restore', { isRestoredClaimLost: true, claim: aClaim({ uid: 'another' }) }],
  ])('is not told to be lost where it %s', (_what, more) => {
    const { status, remove } = planOf(more)
    expect([status.phase, status.conditions?.some(({ type }) => type === 'DiskLost'), remove]).toEqual([
      'Ready',
      false,
      [],
    ])
    expect(status.diskUID).toBe(aRunningWorld(more).claim?.metadata.uid)
  })

  it.each<[string, MachineWorldOverrides]>([
    ['KubeVirt is about to replace it', { ...OFF, claim: undefined, restoring: { restore: 'before-exam' } }],
    ['its namespace is being deleted', { ...OFF, ...GONE, namespaceTerminating: true }],
    ['its machine is being deleted', { ...OFF, ...GONE, metadata: GOING }],
  ])('is no loss where %s', (_what, more) => {
    const { status } = planOf(more)
    expect([status.phase, status.conditions?.some(({ type }) => type === 'DiskLost')]).toEqual(['Provisioning', false])
  })

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['is not to be deployed any more', { ignoreOnDeploy: true }, 'before ignoreOnDeploy became true'],
    ['has a spec that is not valid', { resources: 'all' }, 'spec.resources'],
  ])('is told louder than that the machine %s, and nothing is made or removed', (_what, spec, text) => {
    const { status, apply, remove, events } = planOf({ ...OFF, ...GONE, spec })
    expect([status.phase, reasonOf(status), apply, remove]).toEqual(['Failed', 'DiskLost', [], []])
    expect(status.message).toMatch(/^the root disk, .* is gone/)
    expect(status.message).toContain(text)
    expect(status.conditions?.find(({ type }) => type === 'DiskLost')?.reason).toBe('DiskLost')
    expect(events.map(({ reason }) => reason)).toEqual(['DiskLost'])
  })

  it('is looked for live before it is told, and before anything is removed: a restore deletes the claim, too', () => {
    const claim = [{ type: PERSISTENT_VOLUME_CLAIM, namespace: 'team', name: 'vm-root' }]
    const first = planOf({ ...OFF, claim: undefined })
    const asSeen = { unchanged: expect.objectContaining({ type: KUBEVIRT_VIRTUAL_MACHINE, name: 'vm' }) }
    expect([kindsOf(first.remove), first.onlyIf]).toEqual([
      ['DataVolume'],
      [{ absent: claim, whose: "anybody's" }, asSeen],
    ])
    const second = planOf({ ...OFF, ...GONE })
    expect([kindsOf(second.remove), second.onlyIf]).toEqual([['VirtualMachine'], NO_DISK])
    const third = planOf({ ...GONE, instance: undefined, machine: undefined, status: second.status })
    expect([third.remove, third.onlyIf]).toEqual([[], undefined])
  })

  it('names what those may write who work in its workspace', () => {
    const { status } = planOf({ ...GONE, metadata: { labels: { 'pelotech.ot/workspace': 'lab-7' } } })
    expect(status.message).toContain(
      'by: kubectl annotate workspaces.pelotech.ot lab-7 --overwrite pelotech.ot/rebuild-',
    )
  })

  it.each([
    [
      'its DataVolume is deleted',
      (walk: MachineWalk) => walk.set({ clone: going(walk.world.clone), claim: going(walk.world.claim) }),
    ],
    ['its claim is deleted', (walk: MachineWalk) => walk.set({ claim: going(walk.world.claim) })],
  ])('is not made again by CDI or by us after the guest has stopped, when %s', (_what, deleted) => {
    const walk = deleted(new MachineWalk().deploy()).settle()
    expect([walk.stand, lossIn(walk)]).toEqual(['Failed/DiskBeingDeleted', 'DiskBeingDeleted'])
    // Otherwise CDI would make another one when the guest stops.
    expect(walk.world.clone?.metadata.deletionTimestamp).toBeDefined()
    const before = writes(walk).length
    off(walk).diskGone().settle().reap()
    expect([walk.stand, lossIn(walk)]).toEqual(['Failed/DiskLost', 'DiskLost'])
    expect(walk.after(DAY).stand).toBe('Failed/DiskLost')
    expect(writes(walk).slice(before)).toEqual(['delete VirtualMachine vm'])
    expect(walk.events.slice(-2)).toEqual(['Warning DiskBeingDeleted', 'Warning DiskLost'])
  })
})

describe('a new disk for a machine that has lost its own', () => {
  const lost = () => off(new MachineWalk().deploy()).diskGone().settle().reap()
  const disksOf = (walk: MachineWalk) => walk.log.filter((line) => line === 'apply DataVolume vm-root').length

  it('is made when somebody asks for it, once', () => {
    const walk = lost()
    expect([walk.stand, disksOf(walk)]).toEqual(['Failed/DiskLost', 1])
    walk.rebuild('1')
    expect([disksOf(walk), lossIn(walk), walk.status.bootedAt, walk.status.specHash]).toEqual([
      2,
      undefined,
      undefined,
      undefined,
    ])
    walk.disk(DISK.succeeded).start()
    expect(walk.stand).toBe('Ready/Running')
    off(walk).diskGone().settle().reap().rebuild('1')
    expect([walk.stand, disksOf(walk)]).toEqual(['Failed/DiskLost', 2])
    walk.rebuild('2')
    expect(disksOf(walk)).toBe(3)
  })

  it('waits for the image, which the request outlasts', () => {
    const walk = lost().image({ phase: 'Syncing' }).rebuild()
    expect([walk.stand, disksOf(walk)]).toEqual(['Provisioning/ImageSyncing', 1])
    walk.after(HOUR).image({ phase: 'Failed', message: 'it is not there' })
    expect(walk.stand).toBe('Failed/ImageFailed')
    walk.image(aRunningWorld().image?.status).disk(DISK.succeeded).start()
    expect([walk.stand, disksOf(walk)]).toEqual(['Ready/Running', 2])
  })

  it('is not made by a request that the machine was created with', () => {
    const walk = new MachineWalk({ metadata: { annotations: { 'pelotech.ot/rebuild-requested-at': '1' } } }).deploy()
    off(walk).diskGone().settle().reap()
    expect(walk.stand).toBe('Failed/DiskLost')
  })

  it('is not made by a request from before the loss', () => {
    const walk = new MachineWalk().deploy().rebuild('1')
    expect(walk.stand).toBe('Ready/Running')
    off(walk).diskGone().settle().reap()
    expect(walk.stand).toBe('Failed/DiskLost')
  })

  it('is not made while the guest has the last copy, and is when it stops', () => {
    const walk = new MachineWalk().deploy()
    walk
      .set({ clone: going(walk.world.clone), claim: going(walk.world.claim) })
      .settle()
      .rebuild()
    expect([walk.stand, walk.world.instance]).toEqual(['Failed/DiskBeingDeleted', expect.anything()])
    walk.diskGone().settle()
    expect([walk.stand, walk.world.instance]).toEqual(['Failed/DiskLost', expect.anything()])
    off(walk).reap()
    expect(disksOf(walk)).toBe(2)
  })

  it('is made in the place of one that has no volume any more', () => {
    const walk = off(new MachineWalk().deploy())
    walk
      .set({ claim: { ...aClaim(), phase: 'Lost' } })
      .settle()
      .rebuild()
    expect(walk.world.machine?.metadata.deletionTimestamp).toBeDefined()
    walk.reap().reap()
    expect(disksOf(walk)).toBe(2)
  })

  it('is the one that CDI has made, if the guest runs from that already', () => {
    const walk = new MachineWalk().deploy()
    walk.set({ claim: { ...aClaim(), metadata: { ...walk.world.claim?.metadata, name: 'vm-root', uid: 'another' } } })
    expect(walk.settle().stand).toBe('Failed/DiskLost')
    const instance = walk.world.instance?.metadata.uid
    walk.rebuild()
    expect([walk.stand, walk.world.instance?.metadata.uid, walk.status.diskUID]).toEqual([
      'Ready/Running',
      instance,
      'another',
    ])
  })

  it('is the one that CDI has made, with all that a guest has written to it before it stopped', () => {
    const walk = new MachineWalk().deploy()
    walk.set({ claim: { ...aClaim(), metadata: { ...walk.world.claim?.metadata, name: 'vm-root', uid: 'another' } } })
    const before = writes(walk.settle()).length
    const uuid = walk.world.machine?.firmwareUuid
    off(walk).settle().reap()
    expect([walk.stand, writes(walk).slice(before)]).toEqual(['Failed/DiskLost', ['change VirtualMachine vm']])
    expect(walk.world.machine?.runStrategy).toBe('Halted')
    expect(walk.rebuild().start().stand).toBe('Ready/Running')
    // With another UUID, cloud-init would take the guest for a new machine.
    const { machine } = walk.world
    expect([machine?.runStrategy, machine?.firmwareUuid]).toEqual(['Always', uuid])
    expect([disksOf(walk), walk.status.diskUID]).toEqual([1, 'another'])
  })

  it('is not the one that CDI has begun to make for a machine that is off', () => {
    const claim = { ...aClaim({ uid: 'another' }), phase: 'Pending' }
    const { remove, onlyIf } = planOf({ ...OFF, claim })
    expect([kindsOf(remove), onlyIf]).toEqual([['DataVolume'], [{ unchanged: expect.anything() }, expect.anything()]])
  })

  it('is not needed where somebody puts the volume back', () => {
    const walk = lost()
    walk.set({ claim: aClaim({ uid: 'put back', ownerReferences: [] }) }).settle()
    expect(walk.start().stand).toBe('Ready/Running')
    expect([disksOf(walk), walk.status.diskUID, lossIn(walk)]).toEqual([1, 'put back', undefined])
  })
})

describe('a machine that KubeVirt starts from the disk of before its restore again, as an earlier release or a person wrote it', () => {
  const ASIDE = { restoredAside: 'restore-1-rootdisk', isRestoredClaimLost: false }
  const other = () => {
    const walk = new MachineWalk().deploy()
    walk.set({
      ...ASIDE,
      claim: { ...aClaim(), metadata: { ...walk.world.claim?.metadata, name: 'vm-root', uid: 'old' } },
    })
    return walk.settle()
  }

  it('is not told to have a disk that was deleted, and nothing of either disk is touched', () => {
    const walk = other()
    const before = writes(walk).length
    expect([walk.stand, walk.message]).toEqual(['Failed/DiskLost', expect.not.stringMatching(/delet|CDI/)])
    off(walk).settle().reap()
    // Its deletion would delete the restored claim.
    expect(writes(walk).slice(before)).toEqual(['change VirtualMachine vm'])
    expect([walk.stand, walk.world.machine?.runStrategy]).toEqual(['Failed/DiskLost', 'Halted'])
    walk.diskGone().settle().reap()
    expect(writes(walk).slice(before)).toEqual(['change VirtualMachine vm'])
  })

  it('begins again from the image if somebody asks for a reset, and not from the disk of before the restore', () => {
    const walk = other().reset().settle()
    expect([walk.stand, walk.status.replacement?.disk.name]).toEqual(['Ready/Replacing', 'vm-root-g2'])
  })

  it('goes on with that one if somebody asks for it', () => {
    const walk = other()
    const before = writes(walk).length
    walk.rebuild().set({ restoredAside: undefined }).settle()
    expect([walk.stand, walk.status.diskUID, walk.status.restoredClaim, writes(walk).slice(before)]).toEqual([
      'Ready/Running',
      'old',
      undefined,
      [],
    ])
  })
})

it('a machine that has never run gets another disk by itself', () => {
  const walk = new MachineWalk().image(aRunningWorld().image?.status).disk(DISK.succeeded).diskGone().settle().reap()
  expect(walk.stand).toBe('Provisioning/Cloning')
  expect(walk.log.filter((line) => line === 'apply DataVolume vm-root')).toHaveLength(2)
  expect(walk.disk(DISK.succeeded).start().stand).toBe('Ready/Running')
})

it('a guest that was seen for the first time after its disk was gone has lost it, too', () => {
  const { status, remove, apply } = planOf({ ...GONE, status: { observedGeneration: 1 }, instance: anInstance() })
  expect([reasonOf(status), status.bootedAt, remove, apply]).toEqual(['DiskLost', toTime(START), [], []])
})
