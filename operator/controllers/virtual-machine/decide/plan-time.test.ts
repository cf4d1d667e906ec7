import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND, START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  aMachine,
  anInstance,
  KUBEVIRT,
  type KubeVirtStatus,
  PUBLISHED,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { aRunningWorld, type MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import { planMachine } from './plan.ts'

const LIMIT = 30 * MINUTE
const GOING = { deletionTimestamp: toTime(START) }
const deletions = (walk: MachineWalk, from = 0) => walk.log.slice(from).filter((line) => line.startsWith('delete'))
/** A machine whose guest runs and does not become ready. */
const hanging = (overrides: MachineWorldOverrides = {}) =>
  new MachineWalk(overrides).settle().disk(DISK.succeeded).instance({ isReady: false }).kubevirt(KUBEVIRT.notReady)
/** KubeVirt replaces an instance that was deleted. The new one is not ready either. */
const restarted = (walk: MachineWalk) => walk.instance({ isReady: false }).kubevirt(KUBEVIRT.notReady)
const HOTPLUG = { type: 'Failure', status: 'True', reason: 'HotPlugCPUError', message: 'another one is in progress' }
const said = (printableStatus: string): KubeVirtStatus => ({ printableStatus })

describe('the time that a machine has', () => {
  it('begins when its image is there, and its end is a time to look again', () => {
    const walk = new MachineWalk({ image: undefined }).settle().after(5 * HOUR)
    expect([walk.status.provisioningSince, walk.plan().requeue]).toEqual([undefined, undefined])
    walk.image({ phase: 'Syncing' }).after(5 * HOUR)
    expect([walk.status.provisioningSince, walk.plan().requeue]).toEqual([undefined, undefined])
    walk.image(PUBLISHED)
    expect(walk.status.provisioningSince).toBe(toTime(START + 10 * HOUR))
    walk.after(MINUTE).disk(DISK.succeeded).after(MINUTE)
    expect(walk.plan().requeue).toEqual({ afterMs: LIMIT - 2 * MINUTE, because: 'the machine should be ready by then' })
  })

  it.each<[string, number, string]>([
    ['as the policy says', LIMIT, '30 min'],
    ['as it says otherwise', HOUR, '60 min'],
    ['as it says in seconds', 30 * SECOND, '30 s'],
    ['as it says in more of them', 90 * SECOND, '90 s'],
  ])('is %s, to the millisecond', (_what, vmProvisionTimeoutMs, time) => {
    const walk = new MachineWalk({ policy: { vmProvisionTimeoutMs } }).settle().disk(DISK.succeeded)
    walk.kubevirt(said('ErrorUnschedulable'))
    expect(walk.after(vmProvisionTimeoutMs - 1).stand).toBe('Provisioning/Unschedulable')
    expect(walk.plan().requeue?.afterMs).toBe(1)
    expect(walk.after(1).stand).toBe('Failed/Timeout')
    expect(walk.message).toBe(
      `not ready after ${time} (policy key vmProvisionTimeout): no node can take the machine; lower spec.resources, or add nodes`,
    )
    expect(walk.condition('Stalled')?.status).toBe('True')
    expect(walk.events.at(-1)).toBe('Warning Timeout')
  })

  it.each<[string, (walk: MachineWalk) => MachineWalk]>([
    ['its disk waits for a node', (walk) => walk.disk(DISK.waiting)],
    ['CDI does nothing', (walk) => walk],
    ['its disk has no claim', (walk) => walk.disk(DISK.succeeded, false)],
    ['its disk is being deleted', (walk) => deleting(walk)],
    ['KubeVirt does nothing', (walk) => walk.disk(DISK.succeeded)],
    [
      'its instance is refused',
      (walk) => walk.disk(DISK.succeeded).kubevirt({ conditions: [{ type: 'Failure', status: 'True' }] }),
    ],
    ['it fails before it runs', (walk) => walk.disk(DISK.succeeded).kubevirt(said('CrashLoopBackOff'))],
    ['its guest is off', (walk) => walk.disk(DISK.succeeded).kubevirt(said('Stopped'))],
  ])('counts while %s', (_what, act) => {
    const walk = act(new MachineWalk().settle())
    expect(walk.status.phase).toBe('Provisioning')
    expect(walk.after(LIMIT).stand).toBe('Failed/Timeout')
    expect(deletions(walk).filter((line) => !line.includes('VirtualMachine vm'))).toEqual([])
    expect(walk.status.kicks).toBeUndefined()
  })

  it('does not count while somebody has paused the machine', () => {
    const walk = hanging().kubevirt(KUBEVIRT.paused)
    expect(walk.after(10 * HOUR).stand).toBe('Provisioning/Paused')
    expect([walk.plan().requeue, walk.status.provisioningSince]).toEqual([undefined, undefined])
    walk.kubevirt(KUBEVIRT.notReady)
    expect(walk.stand).toBe('Provisioning/NotReady')
    expect(walk.plan().requeue?.afterMs).toBe(LIMIT)
  })

  it('is measured by KubeVirt’s clock while its storage pauses it, and starts again when the guest goes on', () => {
    const pausedAt = (ms: number): KubeVirtStatus => ({
      printableStatus: 'Paused',
      conditions: [{ type: 'Paused', status: 'True', reason: 'PausedIOError', lastTransitionTime: toTime(ms) }],
    })
    const walk = hanging().after(LIMIT - 1)
    walk.kubevirt(pausedAt(walk.now))
    expect([walk.stand, walk.plan().requeue?.afterMs]).toEqual(['Provisioning/PausedIOError', LIMIT])
    expect(walk.after(LIMIT).stand).toBe('Failed/Timeout')
    expect(walk.message).toMatch(
      /^not ready for 30 min \(policy key vmProvisionTimeout\): KubeVirt has paused the machine, since its disk/,
    )
    expect(walk.events).toContain('Warning PausedIOError')
    // Ready has been False since the pause began, and stays False for a moment after it.
    walk.kubevirt(KUBEVIRT.notReady)
    expect([walk.stand, walk.plan().requeue?.afterMs]).toEqual(['Provisioning/NotReady', LIMIT])
    expect(deletions(walk)).toEqual([])
  })

  it('is measured by KubeVirt’s clock while its agent answers, and starts again when that falls silent', () => {
    const walk = hanging().after(MINUTE)
    walk.instance({ isReady: false, hasAgent: true, unreadySince: walk.now })
    expect([walk.stand, walk.status.provisioningSince, walk.plan().requeue?.afterMs]).toEqual([
      'Provisioning/NotReady',
      undefined,
      LIMIT,
    ])
    expect(walk.after(LIMIT).stand).toBe('Failed/Timeout')
    walk.instance({ isReady: false, hasAgent: false })
    expect([walk.stand, deletions(walk)]).toEqual(['Provisioning/NotReady', []])
    expect(deletions(walk.after(LIMIT))).toEqual(['delete VirtualMachineInstance vm'])
  })

  it('keeps its kicks while it is paused', () => {
    const walk = restarted(hanging().after(LIMIT))
    expect(walk.kubevirt(KUBEVIRT.paused).status.kicks?.count).toBe(1)
    expect(walk.edit({ resources: { cpu: '1', memory: '1Gi' } }).settle().status.kicks).toBeUndefined()
  })

  it('is over for good only until it is ready, or its spec changes', () => {
    const late = () => new MachineWalk().settle().disk(DISK.succeeded).after(LIMIT)
    expect(late().stand).toBe('Failed/Timeout')
    expect(late().start().stand).toBe('Ready/Running')
    const edited = late()
      .edit({ resources: { cpu: '1', memory: '1Gi' } })
      .settle()
    expect([edited.stand, edited.plan().requeue?.afterMs]).toEqual(['Provisioning/Starting', LIMIT])
    expect(edited.after(LIMIT).stand).toBe('Failed/Timeout')
  })

  it('starts again when a machine that was ready is not any more', () => {
    const walk = new MachineWalk()
      .deploy()
      .after(10 * HOUR)
      .set({ instance: undefined })
      .kubevirt(KUBEVIRT.stopped)
    expect([walk.stand, walk.plan().requeue?.afterMs]).toEqual(['Provisioning/GuestStopped', LIMIT])
  })

  it('can be raised by the policy when it is over', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).after(LIMIT)
    walk.setPolicy({ vmProvisionTimeoutMs: 2 * LIMIT }).settle()
    expect([walk.stand, walk.plan().requeue?.afterMs]).toEqual(['Provisioning/Starting', LIMIT])
  })

  it('is what it is for a status whose time cannot be read', () => {
    const status = { observedGeneration: 1, provisioningSince: 'yesterday' }
    const walk = new MachineWalk({ status }).settle()
    expect(walk.status.provisioningSince).toBe(toTime(START))
  })
})

describe('a machine that runs and is not ready', () => {
  it('is restarted when its time is over, once for each instance, within its budget, and has failed then', () => {
    const walk = hanging({ policy: { kickLimit: 2 } })
    const since = walk.status.provisioningSince
    expect(since).toBeDefined()
    const instances: unknown[] = []
    for (const count of [1, 2]) {
      const before = walk.log.length
      instances.push(walk.world.instance?.metadata.uid)
      walk.after(LIMIT - 1)
      expect(deletions(walk, before)).toEqual([])
      walk.now += 1
      expect(walk.plan().status.message).toBe(
        `the instance runs and was not ready for 30 min: it is deleted, so that KubeVirt starts it again (${count} of 2)`,
      )
      walk.settle()
      expect(deletions(walk, before)).toEqual(['delete VirtualMachineInstance vm'])
      expect(walk.status.kicks).toEqual({ count, lastTime: toTime(walk.now), instanceUID: instances.at(-1) })
      expect(walk.plan().requeue?.afterMs).toBe(LIMIT)
      restarted(walk)
      expect(walk.stand).toBe('Provisioning/NotReady')
      // It is how long the machine takes in all, restarts included.
      expect(walk.status.provisioningSince).toBe(since)
    }
    expect(walk.after(LIMIT).stand).toBe('Failed/KickBudgetSpent')
    expect(walk.message).toContain(
      'restarted or cloned again 2 times, and still: the instance runs and is not ready: GuestNotRunning; see its console',
    )
    expect(walk.after(10 * HOUR).stand).toBe('Failed/KickBudgetSpent')
    expect(deletions(walk)).toHaveLength(2)
    expect(walk.events.filter((line) => /Kick/.test(line))).toEqual([
      'Warning Kicked',
      'Warning Kicked',
      'Warning KickBudgetSpent',
    ])
  })

  it('is deleted as it was seen, after it was written down', () => {
    const walk = hanging()
    walk.now += LIMIT
    const { remove, status } = walk.plan()
    expect(remove).toEqual([
      {
        apiVersion: 'kubevirt.io/v1',
        kind: 'VirtualMachineInstance',
        namespace: 'team',
        name: 'vm',
        uid: walk.world.instance?.metadata.uid,
        resourceVersion: '300',
      },
    ])
    expect(status.kicks?.instanceUID).toBe(walk.world.instance?.metadata.uid)
    const before = walk.log.length
    walk.settle()
    expect(walk.log.slice(before, before + 2)).toEqual([
      'status Provisioning/Kicked',
      'delete VirtualMachineInstance vm',
    ])
  })

  it('is deleted after a crash between the two, and not counted again', () => {
    const walk = hanging()
    walk.now += LIMIT
    const { status } = walk.plan()
    walk.set({ vm: { ...walk.world.vm, status } })
    walk.settle()
    expect(deletions(walk)).toEqual(['delete VirtualMachineInstance vm'])
    expect(walk.status.kicks?.count).toBe(1)
  })

  it('is not deleted twice while it goes', () => {
    const walk = hanging()
    walk.now += LIMIT
    const { instance } = walk.world
    const metadata = { ...instance?.metadata, name: 'vm', deletionTimestamp: toTime(walk.now) }
    const { status } = walk.plan()
    walk.set({ vm: { ...walk.world.vm, status }, instance: instance && { ...instance, metadata } })
    expect(walk.plan().remove).toEqual([])
    walk.now += LIMIT
    expect(walk.plan()).toMatchObject({ remove: [], status: { phase: 'Failed' } })
  })

  it.each<[string, (walk: MachineWalk) => MachineWalk]>([
    ['becomes ready', (walk) => walk.instance({}).kubevirt(KUBEVIRT.running)],
    ['has another spec', (walk) => walk.edit({ resources: { cpu: '1', memory: '1Gi' } }).settle()],
  ])('has all its budget again when it %s', (_what, act) => {
    const walk = hanging({ policy: { kickLimit: 1 } }).after(LIMIT)
    expect(walk.status.kicks?.count).toBe(1)
    act(restarted(walk))
    expect(walk.status.kicks).toBeUndefined()
    restarted(walk).after(LIMIT)
    expect(walk.status.kicks?.count).toBe(1)
    expect(deletions(walk)).toHaveLength(2)
  })

  it('is not restarted where the policy does not want it', () => {
    const walk = hanging({ policy: { kickLimit: 0 } }).after(LIMIT)
    expect([walk.stand, deletions(walk)]).toEqual(['Failed/KickBudgetSpent', []])
    expect(walk.message).toContain('not restarted, since the policy key kickLimit is 0: the instance runs')
  })

  it('keeps its disk, however often it is restarted', () => {
    const walk = hanging({ policy: { kickLimit: 5 } })
    const { clone } = walk.world
    for (let turn = 0; turn < 5; turn += 1) restarted(walk.after(LIMIT))
    expect(walk.status.kicks?.count).toBe(5)
    expect(walk.world.clone).toEqual(clone)
    expect(walk.log.filter((line) => line.startsWith('apply')).length).toBe(3)
  })
})

describe('only an instance that runs and is not ready is deleted, and that once: one', () => {
  const overdue: MachineWorldOverrides = {
    status: { observedGeneration: 1, provisioningSince: toTime(START), bootedAt: toTime(START) },
  }

  it.each<[string, MachineWorldOverrides, boolean]>([
    ['that runs and is not ready', {}, true],
    ['that has not run yet', { instance: anInstance({ phase: 'Scheduling', isReady: false }) }, false],
    ['that has ended', { instance: anInstance({ phase: 'Failed', isReady: false }) }, false],
    ['that is gone', { instance: undefined }, false],
    ['that KubeVirt is stopping', { machine: aMachine(said('Stopping')) }, false],
    ['that is being migrated', { machine: aMachine(said('Migrating')) }, false],
    ['that is paused', { machine: aMachine(KUBEVIRT.paused) }, false],
    ['of a machine that crashes', { machine: aMachine(said('CrashLoopBackOff')) }, false],
    [
      'that is paused, which KubeVirt’s machine does not know yet',
      { instance: anInstance({ isReady: false, isPaused: true }) },
      false,
    ],
    ['whose agent answers', { instance: anInstance({ isReady: false, hasAgent: true }) }, false],
    ['whose pod goes already', { instance: anInstance({ isReady: false, unreadyReason: 'PodTerminating' }) }, false],
    [
      'that could not be changed while it ran',
      { machine: aMachine({ ...KUBEVIRT.paused, conditions: [HOTPLUG] }) },
      false,
    ],
    ['that is ready', { machine: aMachine(KUBEVIRT.running) }, false],
    [
      'that was deleted by us already',
      {
        status: { ...overdue.status, kicks: { count: 1, instanceUID: 'instance-1' } },
        instance: anInstance({ isReady: false }, { deletionTimestamp: toTime(START) }),
      },
      false,
    ],
    [
      'whose deletion was written down, and not carried out before a crash',
      { status: { ...overdue.status, kicks: { count: 1, instanceUID: 'instance-1' } } },
      true,
    ],
    ['whose DataVolume is being deleted', { clone: aDisk({}, GOING) }, false],
    ['whose claim is being deleted', { claim: aClaim(GOING), clone: undefined }, false],
    ['whose DataVolume is gone, and whose claim is not', { clone: undefined }, true],
    ['whose disk is gone', { clone: undefined, claim: undefined }, false],
    ['that is ready, which KubeVirt’s machine does not know yet', { instance: anInstance() }, false],
    [
      'that has just been switched on',
      { instance: anInstance({ isReady: false, unreadySince: START + LIMIT }) },
      false,
    ],
  ])('%s, when its time is over: %#', (_what, change, expected) => {
    const instance = anInstance({ isReady: false })
    const world = aRunningWorld({ ...overdue, machine: aMachine(KUBEVIRT.notReady), instance, ...change })
    const { remove } = planMachine(world, START + LIMIT)
    expect(remove.map(({ kind }) => kind)).toEqual(expected ? ['VirtualMachineInstance'] : [])
  })
})

function deleting(walk: MachineWalk): MachineWalk {
  const { clone } = walk.disk(DISK.cloning).world
  if (clone === undefined) throw new Error('no disk')
  return walk.set({ clone: { ...clone, metadata: { ...clone.metadata, deletionTimestamp: toTime(START) } } }).settle()
}
