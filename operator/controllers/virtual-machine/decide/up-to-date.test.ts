import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  ARTIFACT,
  anImage,
  anInstance,
  KUBEVIRT,
  PASSWORD,
  PUBLISHED,
  SPEC,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { diskAge } from './up-to-date.ts'

const RESTART = { type: 'RestartRequired', status: 'True', message: 'memory updated in template spec' }
const REFRESHED = { ...PUBLISHED, artifact: { ...ARTIFACT, name: 'golden-99999999', revision: '99999999' } }
const OTHER = { vmDiskImageRef: { name: 'other', namespace: 'farm' } }
const USER = { name: 'demo', plain_text_passwd: PASSWORD, lock_passwd: false }
const CLAIM = 'restore-8d1f2c-rootdisk'

const toldOf = (walk: MachineWalk) => {
  const { status, reason, message = '' } = walk.condition('UpToDate') ?? {}
  return { stands: `${status}/${reason}`, message }
}
const stands = (walk: MachineWalk) => toldOf(walk).stands
const restartDue = (walk: MachineWalk) =>
  walk.kubevirt({ ...KUBEVIRT.running, conditions: [...KUBEVIRT.running.conditions, RESTART] })

/** A machine whose status was written by an earlier version of the operator. */
function fromBefore(walk: MachineWalk, ...more: readonly ('clone' | 'specHash')[]): MachineWalk {
  const { firstStart: _parts, conditions, clone, ...status } = walk.status
  const { imageUID: _uid, sourceRevision, image, ...made } = clone ?? { name: 'vm-root' }
  const before = more.includes('clone') ? made : { ...made, sourceRevision, image }
  return walk.change({
    status: {
      ...status,
      clone: before as NonNullable<typeof clone>,
      specHash: more.includes('specHash') ? 'another' : status.specHash,
      conditions: conditions?.filter(({ type }) => type !== 'UpToDate'),
    },
  })
}

describe('a machine', () => {
  it('is up to date once its disk is there, and names what that is of', () => {
    const walk = new MachineWalk().settle()
    expect(stands(walk)).toBe('False/Cloning')
    walk.disk(DISK.cloning)
    expect(stands(walk)).toBe('False/Cloning')
    walk.disk(DISK.succeeded).start()
    expect(toldOf(walk)).toEqual({
      stands: 'True/UpToDate',
      message: 'the disk is of VMDiskImage farm/golden, revision 1a2b3c4d',
    })
    expect(walk.status.clone).toMatchObject({ imageUID: 'image-uid', sourceRevision: '1a2b3c4d' })
  })

  it.each<[string, Readonly<Record<string, unknown>>, string, string]>([
    [
      'of its image',
      OTHER,
      'SpecChanged',
      'made from VMDiskImage farm/golden, and spec.vmDiskImageRef names farm/other',
    ],
    ['of its disk', { resources: { cpu: '2', memory: '2Gi', diskSize: '40Gi' } }, 'SpecChanged', 'the spec has 40Gi'],
    ['of its host name', { name: 'other' }, 'SpecChanged', 'spec.name changed after the first start'],
    ['of a user', { users: [{ name: 'another' }] }, 'SpecChanged', 'spec.users changed'],
    ['of its user data', { userData: '#cloud-config\n{}\n' }, 'SpecChanged', 'spec.userData changed'],
    [
      'of its user data and its addresses',
      { userData: '#cloud-config\n{}\n', interfaces: [{ network: 'control-net', ipAddress: '10.10.0.162/24' }] },
      'SpecChanged',
      'spec.userData, spec.interfaces changed',
    ],
    ['of its size', { resources: { cpu: '4', memory: '4Gi' } }, 'UpToDate', 'revision 1a2b3c4d'],
    [
      'of how it is written',
      { interfaces: [{ network: 'control-net', ipAddresses: ['10.10.0.161/24'] }] },
      'UpToDate',
      'revision 1a2b3c4d',
    ],
    ['of a label', { version: '2.0.0' }, 'UpToDate', 'revision 1a2b3c4d'],
    [
      'of a password',
      { users: [{ ...USER, plain_text_passwd: `${PASSWORD}-2` }] },
      'UpToDate',
      'a password, or what is in a Secret, has changed since the first start',
    ],
  ])('says which change %s needs a new disk, and only that', (_what, change, reason, text) => {
    const walk = new MachineWalk().deploy().edit(change).settle()
    expect(toldOf(walk)).toEqual({
      stands: `${reason === 'UpToDate' ? 'True' : 'False'}/${reason}`,
      message: expect.stringContaining(text),
    })
    expect(walk.condition('UpToDate')?.observedGeneration).toBe(2)
    walk.edit({ ...SPEC, userData: undefined, version: undefined }).settle()
    expect(stands(walk)).toBe('True/UpToDate')
  })

  it.each<[string, (walk: MachineWalk) => MachineWalk, string, string]>([
    ['was refreshed', (walk) => walk.image(REFRESHED), 'False/ImageRefreshed', 'has revision 99999999 now'],
    [
      'was made again',
      (walk) => walk.set({ image: anImage(PUBLISHED, { uid: 'another' }) }).settle(),
      'False/ImageRefreshed',
      'was deleted and made again',
    ],
    ['is gone', (walk) => walk.image(undefined), 'True/UpToDate', 'revision 1a2b3c4d'],
    [
      'is being refreshed',
      (walk) => walk.image({ ...PUBLISHED, phase: 'Syncing', revision: '99999999' }),
      'True/UpToDate',
      'revision 1a2b3c4d',
    ],
  ])('knows that its image %s', (_what, happens, expected, text) => {
    const walk = happens(new MachineWalk().deploy())
    expect(toldOf(walk)).toEqual({ stands: expected, message: expect.stringContaining(text) })
  })

  it('that waits for a restart says so, after what is costlier', () => {
    const walk = restartDue(new MachineWalk().deploy())
    expect(toldOf(walk)).toEqual({
      stands: 'False/RestartRequired',
      message: expect.stringContaining('memory updated in template spec'),
    })
    walk.image(REFRESHED)
    expect(toldOf(walk).stands).toBe('False/ImageRefreshed')
    expect(toldOf(walk).message).toMatch(/revision 99999999 now; .*virtctl restart/)
    walk.kubevirt(KUBEVIRT.running).image(PUBLISHED)
    expect(stands(walk)).toBe('True/UpToDate')
  })

  it('whose guest has not started takes every change that the disk does not need', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).edit({ name: 'other' }).settle()
    expect([stands(walk), walk.status.firstStart]).toEqual(['True/UpToDate', undefined])
    walk.start().edit({ name: 'demo-vm' }).settle()
    expect(stands(walk)).toBe('False/SpecChanged')
  })

  it('whose Secret was made again knows what its guest was told all the same', () => {
    const walk = new MachineWalk().deploy().set({ secret: undefined }).edit({ name: 'other' }).settle()
    expect(toldOf(walk)).toEqual({ stands: 'False/SpecChanged', message: expect.stringContaining('spec.name changed') })
  })

  it('that is off and waits for its first start has nothing outdated', () => {
    const walk = new MachineWalk({ spec: { runStrategy: 'Halted' } })
      .settle()
      .disk(DISK.waiting)
      .kubevirt(KUBEVIRT.stopped)
    expect([walk.stand, stands(walk)]).toEqual(['Ready/Halted', 'True/UpToDate'])
  })

  it.each<[string, MachineWorldOverrides, string]>([
    ['that nobody is to make', { spec: { ignoreOnDeploy: true } }, 'True/UpToDate'],
    ['whose spec cannot be read', { spec: { vmDiskImageRef: null } }, 'Unknown/InvalidSpec'],
    ['that waits for its image', { image: undefined }, 'False/WaitingForImage'],
  ])('without a disk, %s, says why', (_what, overrides, expected) => {
    expect(stands(new MachineWalk(overrides).settle())).toBe(expected)
  })

  it('that has lost its disk says that', () => {
    const walk = new MachineWalk().deploy().set({ instance: undefined, clone: undefined, claim: undefined }).settle()
    expect([stands(walk), diskAge(walk.world)]).toEqual(['False/DiskLost', undefined])
  })

  it('with a new disk is up to date again', () => {
    const walk = new MachineWalk().deploy().image(REFRESHED).edit({ name: 'other' }).settle()
    expect(diskAge(walk.world)).toMatchObject({ is: 'outdated', reason: 'SpecChanged' })
    walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped).diskGone().settle().reap().rebuild()
    walk.disk(DISK.succeeded).start()
    expect(toldOf(walk)).toMatchObject({ stands: 'True/UpToDate', message: expect.stringContaining('99999999') })
    expect(diskAge(walk.world)).toEqual({ is: 'current' })
  })
})

describe('of a machine from before', () => {
  it('everything is known where nothing has changed, with one write', () => {
    const walk = fromBefore(new MachineWalk().deploy())
    const before = walk.log.length
    walk.settle().after(HOUR)
    expect(walk.log.slice(before)).toEqual(['status Ready/Running'])
    expect(stands(walk)).toBe('True/UpToDate')
    expect(walk.status.clone?.imageUID).toBeUndefined()
    walk.edit({ name: 'other' }).settle()
    expect(stands(walk)).toBe('False/SpecChanged')
  })

  it.each<[string, (walk: MachineWalk) => MachineWalk, string]>([
    ['what its disk is of', (walk) => fromBefore(walk, 'clone'), 'which image the root disk was made from'],
    ['what its guest was told', (walk) => fromBefore(walk, 'specHash'), 'what the guest was told at its first start'],
    [
      'what its guest was told, where its Secret was made again',
      (walk) => fromBefore(walk).set({ secret: undefined }),
      'what the guest was told at its first start',
    ],
  ])('nothing is made up where it was not recorded %s', (_what, happens, text) => {
    const walk = happens(new MachineWalk().deploy()).settle().after(HOUR)
    expect(toldOf(walk)).toEqual({ stands: 'Unknown/NotRecorded', message: expect.stringContaining(text) })
    expect(diskAge(walk.world)).toMatchObject({ is: 'unknown', reason: 'NotRecorded' })
    restartDue(walk)
    expect(toldOf(walk)).toEqual({ stands: 'False/RestartRequired', message: expect.stringContaining(text) })
  })

  it('another image is known all the same', () => {
    const walk = fromBefore(new MachineWalk().deploy(), 'specHash').edit(OTHER).settle()
    expect(stands(walk)).toBe('False/SpecChanged')
  })
})

describe('of a disk that is not of the operator', () => {
  it('is known that a restore made it, and no more', () => {
    const walk = new MachineWalk().deploy().image(REFRESHED).edit(OTHER)
    const elsewhere = { restoredClaim: CLAIM, isDiskElsewhere: true, clone: undefined, claim: aClaim({ name: CLAIM }) }
    const { stands: told, message } = toldOf(walk.set(elsewhere).settle())
    expect(told).toBe('Unknown/NotRecorded')
    expect(message).toContain(`PersistentVolumeClaim ${CLAIM}, is from a restore of KubeVirt`)
  })

  it.each([
    ['a restore in place', { restoredClaim: 'vm-root' }],
    [
      'a person',
      { clone: aDisk({}, { annotations: { 'cdi.kubevirt.io/storage.prePopulated': 'vm-root' } }), claim: aClaim() },
    ],
  ])('nothing is made up after %s', (_what, happens) => {
    const walk = new MachineWalk()
      .deploy()
      .set({ instance: anInstance(), ...happens })
      .settle()
    expect(stands(walk)).toBe('Unknown/NotRecorded')
  })
})
