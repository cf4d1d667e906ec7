import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { KUBEVIRT, type KubeVirtStatus } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { toTime } from '../../../base/time.ts'
import type { InstanceView } from '../kubevirt-views.ts'

const FAILING: KubeVirtStatus = {
  printableStatus: 'Running',
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [compute]',
    },
  ],
}
const UNANSWERED: Partial<InstanceView> = { isReady: false, isProbed: true, unreadyReason: 'ContainersNotReady' }

/** A machine whose guest runs and does not answer its probe. */
function unanswered(readiness: object | undefined, more: Partial<InstanceView> = {}): MachineWalk {
  const walk = new MachineWalk().edit({ readiness }).settle().disk(DISK.succeeded)
  return walk.instance({ ...UNANSWERED, unreadySince: walk.now, ...more }).kubevirt(FAILING)
}

const deletions = (walk: MachineWalk) => walk.log.filter((line) => line.startsWith('delete'))

describe('a guest that does not answer its probe', () => {
  it.each<[string, object | undefined, Partial<InstanceView>, string]>([
    ['no agent', { guestAgent: true }, {}, 'its guest agent does not answer; the image needs qemu-guest-agent'],
    ['a silent agent', { guestAgent: true }, { hasAgent: true }, 'its guest agent is connected, and does not answer'],
    ['no agent that could ask cloud-init', { cloudInit: true }, {}, 'its guest agent does not answer'],
    ['a cloud-init at work', { cloudInit: true }, { hasAgent: true }, 'cloud-init has not done all its work'],
    ['the probe of somebody', undefined, {}, 'it does not answer the readinessProbe of VirtualMachineInstance vm'],
  ])('is told, with what it lacks: %s', (_what, readiness, more, message) => {
    const walk = unanswered(readiness, more)
    expect([walk.stand, walk.message]).toEqual([
      'Provisioning/WaitingForGuest',
      expect.stringContaining(`the guest runs, and is not ready for use: ${message}`),
    ])
    expect(walk.instance({ isProbed: true }).kubevirt(KUBEVIRT.running).stand).toBe('Ready/Running')
  })

  it('has a time of its own, is never restarted, and heals', () => {
    const walk = unanswered({ guestAgent: true, timeoutSeconds: 90 })
    expect(walk.plan().requeue?.afterMs).toBe(90_000)
    expect(walk.after(90_000 - 1).stand).toBe('Provisioning/WaitingForGuest')
    expect(walk.after(1).stand).toBe('Failed/Timeout')
    expect(walk.message).toMatch(/^not ready for 90 s \(spec.readiness.timeoutSeconds\): the guest runs/)
    expect([walk.after(10 * HOUR).stand, deletions(walk), walk.status.kicks]).toEqual(['Failed/Timeout', [], undefined])
    expect(walk.instance({ isProbed: true }).kubevirt(KUBEVIRT.running).stand).toBe('Ready/Running')
  })

  it('has the time of the policy where the spec sets none, from when it answered last', () => {
    const walk = unanswered({ cloudInit: true }).instance({ isProbed: true }).kubevirt(KUBEVIRT.running).after(HOUR)
    walk.instance({ ...UNANSWERED, unreadySince: walk.now }).kubevirt(FAILING)
    expect([walk.stand, walk.events.at(-1)]).toEqual(['Provisioning/WaitingForGuest', 'Normal WaitingForGuest'])
    expect(walk.after(30 * MINUTE - 1).stand).toBe('Provisioning/WaitingForGuest')
    expect(walk.after(1).message).toMatch(/^not ready for 30 min \(policy key vmProvisionTimeout\)/)
  })

  it('is not restarted because of a kick that was noted before it had the probe', () => {
    const walk = unanswered({ guestAgent: true })
    const { uid = '' } = walk.world.instance?.metadata ?? {}
    walk.change({ status: { ...walk.status, kicks: { count: 1, instanceUID: uid, lastTime: toTime(walk.now) } } })
    expect([walk.after(10 * HOUR).stand, deletions(walk)]).toEqual(['Failed/Timeout', []])
  })

  it('is not restarted either where CDI has not said that its disk is complete', () => {
    const walk = unanswered({ guestAgent: true })
      .disk(DISK.cloning)
      .after(10 * HOUR)
    expect([walk.stand, deletions(walk)]).toEqual(['Failed/Timeout', []])
  })

  it('is not what a guest is that is unready for another reason, or without a probe', () => {
    expect(unanswered({ guestAgent: true }, { unreadyReason: 'PodConditionMissing' }).stand).toBe(
      'Provisioning/NotReady',
    )
    const walk = unanswered({ guestAgent: true }, { isProbed: false }).after(30 * MINUTE)
    expect(deletions(walk)).toEqual(['delete VirtualMachineInstance vm'])
  })

  it('shows the port where it is a port', () => {
    const walk = new MachineWalk().edit({ interfaces: undefined, readiness: { tcpPort: 22 } }).settle()
    walk.disk(DISK.succeeded).instance(UNANSWERED).kubevirt(FAILING)
    expect(walk.message).toBe('the guest runs, and is not ready for use: it takes no connection on TCP port 22')
  })
})

describe('the probe', () => {
  const probeOf = ({ world: { machine } }: MachineWalk) => {
    if (machine === undefined) throw new Error('no machine')
    return (machine.spec as { template: { spec: { readinessProbe?: object } } }).template.spec.readinessProbe
  }
  const THEIRS = { httpGet: { port: 80 } }

  it.each<[string, object, object]>([
    ['the guest agent', { guestAgent: true }, { guestAgentPing: {} }],
    [
      'cloud-init',
      { cloudInit: true },
      { exec: { command: ['/bin/sh', '-c', "cloud-init status | grep -qx 'status: done'"] } },
    ],
  ])('of the spec asks %s, is put right, and goes with it', (_what, readiness, expected) => {
    const walk = new MachineWalk().deploy().edit({ readiness }).settle()
    expect(probeOf(walk)).toMatchObject(expected)
    expect(walk.plan().apply).toEqual([])
    expect(probeOf(walk.tamper({ template: { readinessProbe: THEIRS } }).settle())).toMatchObject(expected)
    expect(probeOf(walk.edit({ readiness: undefined }).settle())).toBeUndefined()
    expect(walk.plan().apply).toEqual([])
  })

  it('that people gave it stays, as long as the spec has none', () => {
    const walk = new MachineWalk().deploy().tamper({ template: { readinessProbe: THEIRS } })
    expect(walk.plan().apply).toEqual([])
  })
})
