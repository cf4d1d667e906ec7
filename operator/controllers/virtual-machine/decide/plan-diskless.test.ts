import { describe, expect, it } from 'vitest'
import { toTime } from '../../../runtime/conditions.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import { HOUR, START } from '../../../runtime/times.fixtures.ts'
import { aClaim, aDisk, DISK, NO_DISK } from '../machine-disks.fixtures.ts'
import { aMachine, anInstance, KUBEVIRT } from '../machine-objects.fixtures.ts'
import { Walk } from '../machine-walk.fixtures.ts'
import { aRunningWorld, NO_PASSWORD, type WorldOverrides } from '../machine-world.fixtures.ts'
import { planMachine } from './plan.ts'

const CLAIM = 'PersistentVolumeClaim vm-root'
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const WHY =
  'VirtualMachine vm of KubeVirt has no disk from the operator, and is removed: it would start from any claim of that name'
const planOf = (more: WorldOverrides) => {
  const gone = { clone: undefined, claim: undefined, instance: undefined, machine: aMachine(KUBEVIRT.stopped) }
  return planMachine(aRunningWorld({ ...gone, ...more }), START)
}

describe('KubeVirt’s machine that has neither a DataVolume nor a claim of ours', () => {
  it.each<[string, WorldOverrides, string, string]>([
    ['as people have deleted both', {}, 'Cloning', 'the root disk is gone, and is recreated'],
    ['as CDI is gone', { hasDataVolumes: false }, 'CDIMissing', 'install CDI'],
    ['and neither an image', { image: undefined }, 'Cloning', 'the root disk is gone'],
    ['nor its Secret', { secret: undefined, cloudInit: NO_PASSWORD }, 'MissingPasswordSecret', NO_PASSWORD.message],
    ['and whose Secret is somebody else’s', { conflict: 'Secret vm-cloudinit' }, 'NameConflict', 'Secret vm-cloudinit'],
    ['and whose Secret lost its owner', { orphan: 'Secret vm-cloudinit' }, 'NameConflict', 'Secret vm-cloudinit'],
    ['but a claim of a stranger', { conflict: CLAIM, foreignClaim: CLAIM }, 'NameConflict', CLAIM],
    [
      'and runs from that of a stranger',
      { conflict: CLAIM, foreignClaim: CLAIM, instance: anInstance() },
      'NameConflict',
      CLAIM,
    ],
    [
      'and holds that of a stranger, which is being deleted',
      { leaving: CLAIM, foreignClaim: CLAIM, instance: anInstance() },
      'NamesakeTerminating',
      CLAIM,
    ],
    [
      'and whose DataVolume waits for that of a stranger to go',
      { clone: aDisk(DISK.new), foreignClaim: CLAIM, instance: anInstance() },
      'Cloning',
      `${CLAIM} has the name of its claim and belongs to somebody else`,
    ],
  ])('is removed before anything else, if a live look agrees: %s', (_what, more, reason, text) => {
    const { apply, remove, status, onlyIf } = planOf(more)
    expect(remove).toMatchObject([
      { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', namespace: 'team', name: 'vm', uid: 'uid of vm' },
    ])
    expect(onlyIf).toEqual(NO_DISK)
    expect(apply).toEqual([])
    expect(status.conditions?.find(({ type }) => type === 'Reconciling')?.reason).toBe(reason)
    expect(status.message).toContain(text)
    expect(status.message).toContain(WHY)
    expect(status.addresses).toBeUndefined()
  })

  it.each<[string, WorldOverrides]>([
    ['is going already', { machine: aMachine(KUBEVIRT.stopped, GOING) }],
    ['is not to be deployed any more', { spec: { ignoreOnDeploy: true } }],
    ['cannot get another, as its namespace goes', { namespaceTerminating: true }],
  ])('is left alone, and gets no disk meanwhile, where it %s', (_what, more) => {
    const { apply, remove } = planOf(more)
    expect([apply, remove]).toEqual([[], []])
  })

  it('is left running by a guest that was started by ours, as long as no other claim is there', () => {
    const { apply, remove } = planOf({ instance: anInstance() })
    expect([apply, remove]).toEqual([[], []])
  })

  it('is left running by that guest, too, while the API server refuses something', () => {
    const world = aRunningWorld({ clone: undefined, claim: undefined, instance: anInstance() })
    const { status } = planMachine(world, START)
    expect([status.bootedAt, status.specHash]).toEqual([world.vm.status.bootedAt, world.vm.status.specHash])
    const refused = { ...world, vm: { ...world.vm, status }, refusal: 'exceeded quota' }
    const { apply, remove } = planMachine(refused, START)
    expect([apply, remove]).toEqual([[], []])
  })
})

describe('a guest whose disk is gone while it runs', () => {
  const hung = { instance: anInstance({ isReady: false }), machine: aMachine(KUBEVIRT.notReady) }

  it.each<[string, WorldOverrides, string]>([
    ['that is well', { machine: aMachine(KUBEVIRT.running) }, 'Ready/Running: the machine runs'],
    ['that is not ready', hung, 'Provisioning/NotReady: the instance runs and is not ready: GuestNotRunning'],
    [
      'whose Secret is gone too',
      { secret: undefined },
      'Provisioning/GuestStopped: the guest has stopped, or has not started yet; KubeVirt',
    ],
    ['without an image', { ...hung, image: undefined }, 'Provisioning/NotReady: the instance runs and is not ready'],
    ['without CDI', { hasDataVolumes: false }, 'Provisioning/CDIMissing: the cluster does not serve DataVolumes'],
    [
      'whose Secret is somebody else’s',
      { conflict: 'Secret vm-cloudinit' },
      'Failed/NameConflict: Secret vm-cloudinit',
    ],
    ['without a password', { secret: undefined, cloudInit: NO_PASSWORD }, 'Provisioning/MissingPasswordSecret: the'],
  ])('is told of, and left alone: one %s', (_what, more, says) => {
    const kicks = { count: 1, instanceUID: 'instance-1' }
    const began = { observedGeneration: 1, provisioningSince: toTime(START), bootedAt: toTime(START) }
    for (const status of [began, { ...began, kicks }])
      for (const now of [START, START + HOUR]) {
        const overrides = {
          clone: undefined,
          claim: undefined,
          instance: anInstance(),
          machine: aMachine(KUBEVIRT.stopped),
        }
        const plan = planMachine(aRunningWorld({ ...overrides, status, ...more }), now)
        expect([plan.apply, plan.remove]).toEqual([[], []])
        const { phase, message } = plan.status
        expect(`${phase}/${reasonOf(plan.status)}: ${message}`).toContain(says)
        expect(message).toContain('its disk is gone, and a new one is made when the guest stops: save what is needed')
        expect(plan.status).toMatchObject({
          bootedAt: began.bootedAt,
          addresses: ['10.10.0.161'],
          kubevirt: { name: 'vm', uid: 'uid of vm', nodeName: 'node-1' },
        })
      }
  })

  it('gets a disk when it stops, and that one has not booted', () => {
    const walk = new Walk().deploy().diskGone().settle()
    expect([walk.stand, walk.status.bootedAt]).toEqual(['Ready/Running', toTime(START)])
    expect(walk.after(HOUR).log.filter((line) => line === 'apply DataVolume vm-root')).toHaveLength(1)
    walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped).reap()
    expect(walk.world.clone).toBeDefined()
    const { bootedAt, specHash, secretHash } = walk.status
    expect([bootedAt, specHash, secretHash]).toEqual([undefined, undefined, undefined])
    walk
      .disk(DISK.failed, false)
      .edit({ resources: { cpu: '1', memory: '1Gi' } })
      .settle()
    expect(walk.log).toContain('delete DataVolume vm-root')
  })
})

describe('KubeVirt’s machine that has a disk', () => {
  it.each<[string, WorldOverrides]>([
    ['whose DataVolume is gone', { claim: aClaim() }],
    ['that is being deleted', { claim: aClaim(GOING) }],
    ['whose claim is made again by CDI', { clone: aDisk(DISK.cloning) }],
    ['while CDI is gone', { claim: aClaim(), hasDataVolumes: false }],
    ['while something of somebody else is in the way', { claim: aClaim(), conflict: 'Secret vm-cloudinit' }],
  ])('is not removed: one %s', (_what, more) => {
    expect(planOf(more).remove).toEqual([])
  })
})

describe('a disk whose claim cannot be made', () => {
  it('says which claim of somebody else has its name, where CDI does not', () => {
    const walk = new Walk().settle().disk(DISK.new, false).set({ foreignClaim: CLAIM }).settle()
    expect([walk.stand, walk.message]).toEqual([
      'Provisioning/Cloning',
      `the root disk is being cloned, CDI says nothing yet; ${CLAIM} has the name of its claim and belongs to somebody else: CDI continues when that is deleted; if it is not deleted, check its finalizers`,
    ])
    walk.set({ foreignClaim: undefined })
    expect(walk.disk(DISK.succeeded).start().stand).toBe('Ready/Running')
  })
})

it('disk and machine are made again, in that order, when the machine without a disk is gone', () => {
  const walk = new Walk().deploy().set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)
  const before = walk.log.length
  walk.diskGone().settle()
  expect(walk.stand).toBe('Provisioning/Cloning')
  walk.reap().disk(DISK.succeeded).start()
  expect(walk.log.slice(before).filter((line) => !line.startsWith('status'))).toEqual([
    'delete VirtualMachine vm',
    'apply DataVolume vm-root',
    'apply VirtualMachine vm',
  ])
  expect(walk.stand).toBe('Ready/Running')
})
