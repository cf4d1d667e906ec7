import { FINALIZERS } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  aMachine,
  anImage,
  KUBEVIRT,
  PASSWORD,
  PUBLISHED,
  QUEUED,
  TEMPLATE,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import {
  aMachineWorld,
  aRunningWorld,
  type MachineWorldOverrides,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { planMachine } from './plan.ts'

const planOf = (overrides: MachineWorldOverrides) => planMachine(aMachineWorld(overrides), START)
const standOf = (overrides: MachineWorldOverrides) => {
  const { status } = planOf(overrides)
  return `${status.phase}/${reasonOf(status)}`
}
const writes = (walk: MachineWalk, from = 0) => walk.log.slice(from).filter((line) => !line.startsWith('status'))

describe('the finalizer', () => {
  it.each<[string, MachineWorldOverrides, string]>([
    ['is added at first sight', {}, 'add'],
    ['is added to a machine that waits for its image', { image: undefined }, 'add'],
    ['is added to a machine that has failed', { spec: { resources: undefined } }, 'add'],
    ['is kept', { metadata: { finalizers: [FINALIZERS.virtualMachine] } }, 'keep'],
    ['is added beside those of others', { metadata: { finalizers: ['theirs'] } }, 'add'],
  ])('%s', (_what, overrides, expected) => {
    expect(planOf(overrides).finalizer).toBe(expected)
  })
})

describe('a spec that got past the CRD', () => {
  const bad: [string, Readonly<Record<string, unknown>>, string[]][] = [
    ['lacks what is needed', { resources: undefined }, ['spec.resources: ']],
    ['has memory that KubeVirt cannot run', { resources: { cpu: 2, memory: '1Ki' } }, ['spec.resources.memory: ']],
    ['has CPUs that KubeVirt cannot run', { resources: { cpu: 513, memory: '2Gi' } }, ['spec.resources.cpu: ']],
    [
      'has an address without a length',
      { interfaces: [{ network: 'a', ipAddress: '10.0.0.1' }] },
      ['spec.interfaces[0].ipAddress: '],
    ],
    [
      'has a login with a line end',
      { users: [{ name: 'demo\nroot' }] },
      ['spec.users[0].name: name must be one line without control characters'],
    ],
    [
      'has several faults',
      { resources: { cpu: 0, memory: '1Ki' }, vmDiskImageRef: {} },
      ['spec.resources.cpu: ', '; spec.resources.memory: ', '; spec.vmDiskImageRef.name: '],
    ],
    [
      'has a template that is none',
      { vmDiskImageTemplate: { ...TEMPLATE, diskSize: 'much' } },
      ['spec.vmDiskImageTemplate.diskSize: '],
    ],
  ]

  it.each(bad)('and %s is told by its fields, and nothing is made', (_what, spec, texts) => {
    const plan = planOf({ spec })
    expect([plan.status.phase, reasonOf(plan.status)]).toEqual(['Failed', 'InvalidSpec'])
    for (const text of texts) expect(plan.status.message).toContain(text)
    expect(plan).toMatchObject({ apply: [], remove: [] })
    expect(plan.requeue).toBeUndefined()
    expect(plan.events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Warning InvalidSpec'])
  })

  it.each(bad)('and %s leaves a machine that runs as it is', (_what, spec) => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    walk.edit(spec).settle()
    expect(writes(walk, before)).toEqual([])
    expect(walk.stand).toBe('Failed/InvalidSpec')
    expect(walk.status.addresses).toEqual(['10.10.0.161'])
  })

  it('does not show the password that is wrong with it', () => {
    const { status, events } = planOf({ spec: { users: [{ name: 'demo', plain_text_passwd: `${PASSWORD}\n` }] } })
    expect(status.message).toContain('spec.users[0].plain_text_passwd: ')
    expect(JSON.stringify([status, events])).not.toContain(PASSWORD)
  })

  it('is left when it is corrected', () => {
    const walk = new MachineWalk({ spec: { resources: { cpu: '2', memory: '1Ki' } } }).settle()
    walk.edit({ resources: { cpu: '2', memory: '1Gi' } }).settle()
    expect(walk.stand).toBe('Provisioning/Cloning')
  })
})

describe('in a namespace that is being deleted', () => {
  it.each<[string, MachineWorldOverrides]>([
    ['a machine that has nothing', {}],
    [
      'a machine whose image is missing in its own namespace',
      { image: undefined, spec: { vmDiskImageRef: { name: 'a' } } },
    ],
    ['a machine with its disk alone', { clone: aDisk(), claim: aClaim() }],
    ['a machine whose clone has no source', { clone: aDisk(DISK.cloning), hasCloneSource: false }],
    ['a machine that is not to be deployed', { spec: { ignoreOnDeploy: true } }],
  ])('%s makes and removes nothing', (_what, overrides) => {
    const plan = planOf({ namespaceTerminating: true, ...overrides })
    expect([plan.status.phase, reasonOf(plan.status)]).toEqual(['Provisioning', 'NamespaceTerminating'])
    expect(plan).toMatchObject({ apply: [], remove: [] })
    expect(plan.events.at(0)).toMatchObject({ type: 'Warning', reason: 'NamespaceTerminating' })
  })
})

describe('ignoreOnDeploy', () => {
  const IGNORED = { ignoreOnDeploy: true }
  const GOING = anImage(PUBLISHED, { deletionTimestamp: '2026-01-01T00:00:00Z' })

  it.each<[string, MachineWorldOverrides, string, string[]]>([
    ['the image is ready', {}, 'Ready/IgnoredOnDeploy', []],
    ['the image is missing', { image: undefined }, 'Provisioning/ImageMissing', ['VMDiskImage']],
    ['the image waits', { image: anImage(QUEUED) }, 'Provisioning/WaitingForImage', []],
    ['the image has failed', { image: anImage({ phase: 'Failed' }) }, 'Failed/ImageFailed', []],
    ['there is no KubeVirt', { hasKubeVirt: false }, 'Ready/IgnoredOnDeploy', []],
    ['there is no CDI', { hasDataVolumes: false }, 'Ready/IgnoredOnDeploy', []],
    ['a name is taken', { conflict: 'Secret vm-cloudinit' }, 'Ready/IgnoredOnDeploy', []],
    ['a disk is there', { clone: aDisk(DISK.cloning) }, 'Ready/NotDeployedAnyMore', []],
    [
      'a clone has lost its source',
      { clone: aDisk(DISK.cloning), hasCloneSource: false },
      'Ready/NotDeployedAnyMore',
      [],
    ],
    ['a machine is there', { machine: aMachine(KUBEVIRT.stopped) }, 'Ready/NotDeployedAnyMore', []],
    [
      'a machine is there, and its image is gone',
      { machine: aMachine(), image: undefined },
      'Ready/NotDeployedAnyMore',
      ['VMDiskImage'],
    ],
    [
      'a machine is there, and its image is being deleted',
      { machine: aMachine(), image: GOING },
      'Ready/NotDeployedAnyMore',
      [],
    ],
    [
      'a disk is there, and its image has failed',
      { clone: aDisk(), image: anImage({ phase: 'Failed' }) },
      'Ready/NotDeployedAnyMore',
      [],
    ],
    [
      'a disk is there, and its image waits',
      { clone: aDisk(), image: anImage(QUEUED) },
      'Ready/NotDeployedAnyMore',
      [],
    ],
    ['nothing is there, and the image is being deleted', { image: GOING }, 'Provisioning/ImageTerminating', []],
  ])('ensures the image and nothing else, where %s', (_what, overrides, stand, kinds) => {
    const plan = planOf({ ...overrides, spec: IGNORED })
    expect(`${plan.status.phase}/${reasonOf(plan.status)}`).toBe(stand)
    expect(plan.apply.map(({ kind }) => kind)).toEqual(kinds)
    expect([plan.remove, plan.requeue]).toEqual([[], undefined])
  })

  it.each<[string, MachineWorldOverrides['image'], string[]]>([
    ['is being deleted', GOING, ['Normal NotDeployedAnyMore', 'Warning ImageTerminating']],
    ['is gone', undefined, ['Normal ImageCreated', 'Normal NotDeployedAnyMore', 'Warning ImageMissing']],
  ])('tells who has a disk already of an image that %s, beside that it is left as it is', (_what, image, events) => {
    const plan = planOf({ clone: aDisk(), claim: aClaim(), image, spec: IGNORED })
    expect(plan.status.message).toContain('the machine was deployed before ignoreOnDeploy became true')
    expect(plan.events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(events)
  })

  it('is the same as if it were not there, when it is false', () => {
    expect(planOf({ spec: { ignoreOnDeploy: false } }).apply).toEqual(planOf({}).apply)
  })

  it('to and fro: deploys, and then leaves everything as it is', () => {
    const walk = new MachineWalk({ spec: IGNORED, image: undefined }).settle().image(PUBLISHED)
    expect([walk.stand, writes(walk)]).toEqual(['Ready/IgnoredOnDeploy', ['finalizer', 'apply VMDiskImage golden']])
    expect(walk.edit({ ignoreOnDeploy: false }).settle().deploy().stand).toBe('Ready/Running')
    const before = walk.log.length
    walk
      .edit(IGNORED)
      .settle()
      .kubevirt(KUBEVIRT.stopped)
      .tamper({ spec: { runStrategy: 'Halted' } })
      .after(10 * HOUR)
    expect([walk.stand, writes(walk, before)]).toEqual(['Ready/NotDeployedAnyMore', []])
    walk.edit({ ignoreOnDeploy: false }).settle()
    expect([walk.stand, writes(walk, before)]).toEqual(['Provisioning/GuestStopped', ['apply VirtualMachine vm']])
    expect(walk.plan().requeue?.afterMs).toBe(30 * 60_000)
  })
})

describe('what the API server refuses', () => {
  const refusal = 'exceeded quota: small'

  it.each<[string, MachineWorldOverrides, string, string]>([
    ['while it is on its way', {}, 'Provisioning/Refused', 'the root disk is cloned from VolumeSnapshot'],
    ['while its image is to be made', { image: undefined }, 'Provisioning/Refused', 'is created from the template'],
    ['after it has failed', { clone: aDisk(DISK.failed) }, 'Failed/CloneFailed', 'DataVolume vm-root is Failed'],
    ['with a spec that cannot be read', { spec: { resources: undefined } }, 'Failed/InvalidSpec', 'spec.resources'],
  ])('is told with what is going on, %s', (_what, overrides, stand, text) => {
    expect(standOf({ ...overrides, refusal })).toBe(stand)
    const { message } = planOf({ ...overrides, refusal }).status
    expect(message).toContain(text)
    expect(message).toMatch(/; the API server rejected the change: exceeded quota: small$/)
  })

  it('does not make a machine that runs any less ready', () => {
    const { status } = planMachine(aRunningWorld({ refusal }), START)
    expect([status.phase, reasonOf(status)]).toEqual(['Ready', 'Running'])
    expect(status.message).toContain(refusal)
  })

  it('is tried again, and forgotten when it is taken', () => {
    const walk = new MachineWalk({ refusal })
    expect(walk.plan().apply.map(({ kind }) => kind)).toEqual(['Secret', 'DataVolume'])
    walk.settle()
    expect(walk.events).toContain('Warning Refused')
    walk.set({ refusal: undefined }).settle()
    expect([walk.stand, walk.message]).toEqual(['Provisioning/Cloning', expect.not.stringContaining(refusal)])
  })

  it('is cut where it is too long for a status', () => {
    const { message = '' } = planOf({ refusal: 'x '.repeat(5_000) }).status
    expect([message.length, message.at(-1)]).toEqual([4_000, '…'])
  })
})

describe('a warning about the spec', () => {
  const warning = (overrides: MachineWorldOverrides) =>
    planOf(overrides).status.conditions?.find(({ type }) => type === 'SpecWarning')
  const login = { users: [{ name: 'demo user', ssh_authorized_keys: ['ssh-ed25519 AAAAa a'] }] }
  const small = { resources: { cpu: '2', memory: '2Gi', diskSize: '8Gi' } }

  it.each<[string, Readonly<Record<string, unknown>>, string, string]>([
    ['a login with a blank', login, 'LoginRenamed', 'user "demo user" logs in as demo-user'],
    ['a disk smaller than the image', small, 'DiskSmallerThanImage', 'the disk gets 10Gi, the size of its image'],
  ])('tells of %s, and stops nothing', (_what, spec, reason, text) => {
    expect(warning({ spec })).toMatchObject({ status: 'True', reason, message: expect.stringContaining(text) })
    expect(standOf({ spec })).toBe('Provisioning/Cloning')
    expect(planOf({ spec }).events).toContainEqual(expect.objectContaining({ type: 'Warning', reason }))
  })

  it('tells of several at once, in one condition, and how many they are', () => {
    const both = warning({ spec: { ...login, ...small } })
    expect(both?.message).toMatch(/demo-user, since .*; the disk gets 10Gi/)
    expect(planOf({ spec: { ...login, ...small } }).status.warnings).toBe(2)
  })

  it('says nothing where there is nothing to say, and is dropped when it is mended', () => {
    expect(warning({})).toBeUndefined()
    const walk = new MachineWalk({ spec: login }).settle()
    expect([walk.condition('SpecWarning')?.status, walk.status.warnings]).toEqual(['True', 1])
    expect(
      walk
        .edit({ users: [{ name: 'demo', ssh_authorized_keys: login.users[0]?.ssh_authorized_keys }] })
        .settle()
        .condition('SpecWarning'),
    ).toBeUndefined()
    expect('warnings' in walk.status).toBe(false)
    expect(walk.events.filter((line) => line.endsWith('LoginRenamed'))).toEqual(['Warning LoginRenamed'])
  })

  it('is there while the image is waited for too', () => {
    expect(warning({ spec: login, image: undefined })).toBeDefined()
  })

  it('renders a login that Linux takes, with the name as it was written beside it', () => {
    const walk = new MachineWalk({ spec: login })
    const secret = walk.plan().apply.find(({ kind }) => kind === 'Secret') as { stringData?: { userdata: string } }
    const { users } = JSON.parse(secret.stringData?.userdata.split('\n')[1] ?? '{}') as { users: object[] }
    expect(users[1]).toMatchObject({ name: 'demo-user', gecos: 'demo user' })
  })
})

describe('the time to look again', () => {
  it.each<[string, MachineWorldOverrides, number | undefined]>([
    ['of a disk that is begun', {}, 30 * 60_000],
    ['of a disk that is made', { clone: aDisk(DISK.cloning) }, 60_000],
    ['of a machine that waits for its image', { image: anImage(QUEUED) }, undefined],
    ['of a machine that has failed', { clone: aDisk(DISK.failed) }, undefined],
    ['of a machine that is not to be deployed', { spec: { ignoreOnDeploy: true } }, undefined],
    ['of a machine with a fault in its spec', { spec: { resources: undefined } }, undefined],
  ])('%s', (_what, overrides, expected) => {
    expect(planOf(overrides).requeue?.afterMs).toBe(expected)
  })

  it('of a machine that runs is never', () => {
    expect(planMachine(aRunningWorld(), START).requeue).toBeUndefined()
  })
})
