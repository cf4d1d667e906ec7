import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import {
  type KubeVirtCondition,
  kubeVirtStatus,
  NO_ROOM,
  unscheduled,
  unsynchronized,
} from '../../../../test/prepared/virtual-machine/kubevirt-conditions.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  aMachine,
  aSecret,
  KUBEVIRT,
  type KubeVirtStatus,
} from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { aMachineWorld } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { planMachine } from './plan.ts'

const NO_PLACE = unscheduled(
  "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector.",
)

const QUOTA = unsynchronized('FailedCreate', 'failed to create virtual machine pod: exceeded quota: small')

const UNREADY: KubeVirtCondition = {
  type: 'Ready',
  status: 'False',
  reason: 'ContainersNotReady',
  message: 'containers with unready status: [compute]',
}

const NO_HOTPLUG: KubeVirtCondition = {
  type: 'Failure',
  status: 'True',
  reason: 'HotPlugCPUError',
  message: 'Error encountered while handling CPU change request: another CPU hotplug is in progress',
}

const paused = (reason: string, message: string, printableStatus = 'Paused'): KubeVirtStatus =>
  kubeVirtStatus(printableStatus, { type: 'Paused', status: 'True', reason, message })

const failing = (retryAfterTimestamp: string): KubeVirtStatus => ({
  ...kubeVirtStatus('CrashLoopBackOff', unsynchronized('Evicted', 'the node was low on memory')),
  startFailure: { retryAfterTimestamp },
})

const REFUSED: KubeVirtCondition = {
  type: 'Failure',
  status: 'True',
  reason: 'FailedCreate',
  message: 'Failure while starting VMI: no memory requested',
}

describe('a machine whose disk is complete', () => {
  const ROWS: (readonly [string, KubeVirtStatus, reason: string, message: string])[] = [
    ['KubeVirt has not seen it', KUBEVIRT.new, 'Starting', 'KubeVirt has not looked at the machine yet'],
    ['its launcher starts', kubeVirtStatus('Starting'), 'Starting', 'KubeVirt says Starting'],
    [
      'no node has room',
      kubeVirtStatus('ErrorUnschedulable', NO_ROOM),
      'Unschedulable',
      `no node can take the machine: ${NO_ROOM.message}; lower spec.resources, or add nodes`,
    ],
    [
      'no node has the labels and tolerated taints',
      kubeVirtStatus('ErrorUnschedulable', NO_PLACE),
      'Unschedulable',
      `no node can take the machine: ${NO_PLACE.message}; correct spec.nodeSelector, or label a node, tolerate the taint with spec.tolerations, lower spec.resources, or add nodes`,
    ],
    [
      'the image of the launcher cannot be pulled',
      kubeVirtStatus('ImagePullBackOff', unsynchronized('ImagePullBackOff', 'Back-off pulling image')),
      'Starting',
      'KubeVirt says ImagePullBackOff: Back-off pulling image',
    ],
    [
      'the image of the launcher is not there',
      kubeVirtStatus('ErrImagePull', unsynchronized('ErrImagePull', 'not found')),
      'Starting',
      'KubeVirt says ErrImagePull: not found',
    ],
    [
      'its launcher fails before it runs',
      kubeVirtStatus('CrashLoopBackOff', unsynchronized('Evicted', 'the node was low on memory')),
      'CrashLoop',
      'the machine fails before it runs, and is tried again after a while: the node was low on memory',
    ],
    [
      'its launcher fails before it runs, and KubeVirt says when it tries again',
      failing('2026-01-01T00:00:40Z'),
      'CrashLoop',
      'the machine fails before it runs, and is tried again at 2026-01-01T00:00:40.000Z: the node was low on memory',
    ],
    [
      'its launcher fails before it runs, and KubeVirt says no time that can be read',
      failing('soon'),
      'CrashLoop',
      'the machine fails before it runs, and is tried again after a while: the node was low on memory',
    ],
    ['it runs and is not ready', KUBEVIRT.notReady, 'NotReady', 'the instance runs and is not ready: GuestNotRunning'],
    [
      'it runs, and its pod is not ready',
      { printableStatus: 'Running', conditions: [UNREADY] },
      'NotReady',
      'the instance runs and is not ready: containers with unready status: [compute]',
    ],
    [
      'it runs, and nobody says why it is not ready',
      { printableStatus: 'Running' },
      'NotReady',
      'the instance runs and is not ready',
    ],
    [
      'it is being migrated, is not ready, and KubeVirt has more to say',
      { printableStatus: 'Migrating', conditions: [UNREADY, unsynchronized('Odd', 'no target')] },
      'NotReady',
      'the instance runs and is not ready: containers with unready status: [compute]; no target',
    ],
    [
      'its instance was deleted',
      kubeVirtStatus('Stopping'),
      'Stopping',
      'the guest is being stopped, and is started again once that is over',
    ],
    [
      'its guest shut down',
      kubeVirtStatus('Stopped'),
      'GuestStopped',
      'the guest has stopped, or has not started yet; KubeVirt starts it',
    ],
    [
      'its instance was refused',
      kubeVirtStatus('Stopped', REFUSED),
      'StartFailed',
      `KubeVirt cannot start the machine: ${REFUSED.message}`,
    ],
    [
      'somebody paused it',
      paused('PausedByUser', 'VMI was paused by user'),
      'Paused',
      'somebody paused the machine (VMI was paused by user): unpause it, for instance with virtctl unpause',
    ],
    [
      'its migration pauses it',
      paused('PausedByMigrationMonitor', 'VMI was paused by the migration monitor', 'Migrating'),
      'Paused',
      'KubeVirt has paused the machine until its migration ends (VMI was paused by the migration monitor)',
    ],
    [
      'its storage pauses it',
      paused('PausedIOError', 'VMI was paused, low-level IO error detected'),
      'PausedIOError',
      'KubeVirt has paused the machine, since its disk cannot be written or read (VMI was paused, low-level IO error detected): see whether its storage is full or lost; the guest continues by itself when that is fixed',
    ],
    [
      'nobody says why it is paused',
      kubeVirtStatus('Paused'),
      'Paused',
      'KubeVirt says that the machine is paused: unpause it, for instance with virtctl unpause',
    ],
    [
      'somebody paused it while it could not be changed',
      { ...paused('PausedByUser', ''), conditions: [...(paused('PausedByUser', '').conditions ?? []), NO_HOTPLUG] },
      'Paused',
      'somebody paused the machine: unpause it, for instance with virtctl unpause',
    ],
    [
      'it runs, is not ready, and could not be changed',
      { printableStatus: 'Running', conditions: [UNREADY, NO_HOTPLUG] },
      'NotReady',
      `the instance runs and is not ready: ${UNREADY.message}; ${NO_HOTPLUG.message}`,
    ],
    [
      'its volume waits to be bound',
      kubeVirtStatus('WaitingForVolumeBinding'),
      'WaitingForVolumeBinding',
      'the volume of the root disk is not bound yet',
    ],
    ['KubeVirt is behind', kubeVirtStatus('Provisioning'), 'Starting', 'KubeVirt says Provisioning'],
    ['KubeVirt says what nobody knows', kubeVirtStatus('Sleepwalking'), 'Starting', 'KubeVirt says Sleepwalking'],
    [
      'its pod was refused',
      kubeVirtStatus('Starting', QUOTA),
      'StartFailed',
      'failed to create virtual machine pod: exceeded quota: small',
    ],
    [
      'its instance was refused, and other conditions are older',
      kubeVirtStatus('Stopped', QUOTA, NO_ROOM, REFUSED),
      'StartFailed',
      String(REFUSED.message),
    ],
    [
      'its pod was refused, and the scheduler said something before',
      kubeVirtStatus('Starting', NO_ROOM, QUOTA),
      'StartFailed',
      'exceeded quota',
    ],
  ]

  it.each(ROWS)('%s', (_situation, status, reason, message) => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).kubevirt(status)
    expect([walk.stand, walk.message]).toEqual([`Provisioning/${reason}`, expect.stringContaining(message)])
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
    // What KubeVirt did not create is retried. The machine has no instance in any of these rows.
    const next = reason === 'StartFailed' && status.printableStatus === 'Stopped' ? MINUTE : 30 * MINUTE
    expect(walk.plan().requeue?.afterMs).toBe(reason === 'Paused' ? undefined : next)
    // The machine recovers from each of them.
    expect(walk.start().stand).toBe('Ready/Running')
  })

  it.each(ROWS)('%s after it ran: its disk and its machine stay', (_situation, status, reason) => {
    const walk = new MachineWalk().deploy().set({ instance: undefined })
    const before = walk.log.length
    walk.kubevirt(status)
    expect(walk.stand).toBe(`Provisioning/${reason}`)
    walk.after(10 * HOUR)
    expect(walk.log.slice(before).filter((line) => !line.startsWith('status'))).toEqual([])
    expect(walk.start().stand).toBe('Ready/Running')
  })

  it('the Events of its failing starts are one and the same, whenever the next one is', () => {
    const eventsOf = (status: KubeVirtStatus) => {
      const children = { clone: aDisk(), claim: aClaim(), secret: aSecret(), machine: aMachine(status) }
      return planMachine(aMachineWorld(children), START).events.filter(({ type }) => type === 'Warning')
    }
    const events = eventsOf(failing('2026-01-01T00:00:40Z'))
    expect(events).toEqual([
      {
        type: 'Warning',
        reason: 'CrashLoop',
        message: 'the machine fails before it runs, and is tried again after a while: the node was low on memory',
      },
    ])
    expect(eventsOf(failing('2026-01-01T00:05:00Z'))).toEqual(events)
  })

  it('it runs for a moment before it is ready, and there is no Event for that, but for the loss of readiness', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).instance().kubevirt(KUBEVIRT.notReady)
    const told = () => walk.events.filter((line) => line.endsWith('NotReady'))
    expect([walk.stand, told()]).toEqual(['Provisioning/NotReady', []])
    walk.kubevirt(KUBEVIRT.running).kubevirt(KUBEVIRT.notReady).after(MINUTE)
    expect([walk.stand, told()]).toEqual(['Provisioning/NotReady', ['Normal NotReady']])
  })

  it.each([['Running'], ['Migrating']])('it is ready, %s', (printableStatus) => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).instance()
    walk.kubevirt({ printableStatus, conditions: [{ type: 'Ready', status: 'True' }] })
    expect([walk.stand, walk.message]).toEqual(['Ready/Running', 'the machine runs'])
    expect(walk.plan().requeue).toBeUndefined()
  })

  it('it is ready, though CDI has not said that the disk is complete', () => {
    const walk = new MachineWalk().settle().disk(DISK.cloning).start()
    expect(walk.stand).toBe('Ready/Running')
  })

  it('its node and its addresses are shown while it has them', () => {
    const walk = new MachineWalk().deploy()
    expect(walk.status).toMatchObject({ addresses: ['10.10.0.161'], kubevirt: { nodeName: 'node-1' } })
    walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)
    expect([walk.status.addresses, walk.status.kubevirt]).toEqual([
      undefined,
      { name: 'vm', uid: walk.world.machine?.metadata.uid, printableStatus: 'Stopped' },
    ])
    walk.instance({ addresses: [] }).kubevirt(KUBEVIRT.running)
    expect(walk.status.addresses).toBeUndefined()
  })
})
