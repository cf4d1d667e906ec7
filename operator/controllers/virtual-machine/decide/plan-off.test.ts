import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { anInstance, KUBEVIRT, type KubeVirtStatus } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { toTime } from '../../../base/time.ts'

const LIMIT = 30 * MINUTE
const writes = (walk: MachineWalk, from = 0) => walk.log.slice(from).filter((line) => !line.startsWith('status'))
const strategyOf = (walk: MachineWalk) => walk.world.machine?.runStrategy
const said = (printableStatus: string): KubeVirtStatus => ({ printableStatus })
/** Its instance is gone. */
const stopped = (walk: MachineWalk) => walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)

describe('a machine that is to be off', () => {
  it('is made with its disk, is Ready, and starts when that is wanted', () => {
    const walk = new MachineWalk({ spec: { runStrategy: 'Halted' } }).settle().disk(DISK.cloning)
    expect(walk.stand).toBe('Provisioning/Cloning')
    stopped(walk.disk(DISK.succeeded))
    expect([walk.stand, strategyOf(walk)]).toEqual(['Ready/Halted', 'Halted'])
    expect(walk.message).toBe('the machine is off, as spec.runStrategy says (Halted); its disk stays')
    expect([walk.plan().requeue, walk.status.provisioningSince]).toEqual([undefined, undefined])
    expect(walk.after(10 * HOUR).stand).toBe('Ready/Halted')
    walk.edit({ runStrategy: 'Always' }).settle()
    expect([walk.stand, strategyOf(walk), walk.plan().requeue?.afterMs]).toEqual([
      'Provisioning/GuestStopped',
      'Always',
      LIMIT,
    ])
    expect(walk.start().stand).toBe('Ready/Running')
  })

  it('is off as its powerState says, whatever its run strategy is, which counts again after that', () => {
    const walk = new MachineWalk({ spec: { runStrategy: 'Manual', powerState: 'Halted' } })
      .settle()
      .disk(DISK.succeeded)
    stopped(walk)
    expect([walk.stand, strategyOf(walk)]).toEqual(['Ready/Halted', 'Halted'])
    expect(walk.message).toBe('the machine is off, as spec.powerState says (Halted); its disk stays')
    walk.edit({ powerState: 'Running' }).settle()
    // Nobody starts it but people: under Manual, what was said of it last is that it is off.
    expect([walk.stand, strategyOf(walk)]).toEqual(['Ready/Halted', 'Manual'])
    walk.edit({ runStrategy: undefined }).settle()
    expect(strategyOf(walk)).toBe('Always')
  })

  it('waits for nothing where its disk is filled at its first start', () => {
    const walk = new MachineWalk({ spec: { runStrategy: 'Halted' } }).settle().disk(DISK.populating)
    expect(walk.kubevirt(said('Provisioning')).stand).toBe('Ready/Halted')
    expect(walk.after(10 * HOUR).stand).toBe('Ready/Halted')
    expect(walk.edit({ runStrategy: undefined }).settle().stand).toBe('Provisioning/WaitingForVolumeBinding')
  })

  it('is stopped where it runs, keeps its disk, and tells as long as it is not off', () => {
    const walk = new MachineWalk().deploy()
    const [before, { uid }] = [walk.log.length, walk.world.clone?.metadata ?? {}]
    walk.edit({ runStrategy: 'Halted' }).settle()
    expect([walk.stand, walk.message]).toEqual([
      'Provisioning/Stopping',
      'spec.runStrategy is Halted: the guest is being stopped on node node-1; if this lasts, see whether that node is lost',
    ])
    walk.kubevirt(said('Stopping'))
    expect(walk.after(LIMIT).stand).toBe('Failed/Timeout')
    expect(stopped(walk).stand).toBe('Ready/Halted')
    expect(writes(walk, before)).toEqual(['apply VirtualMachine vm'])
    expect([walk.world.clone?.metadata.uid, walk.status.bootedAt]).toEqual([uid, toTime(START)])
    expect(walk.events.slice(-4)).toEqual(['Normal Running', 'Normal Stopping', 'Warning Timeout', 'Normal Halted'])
  })

  it('is off as long as KubeVirt has not done what somebody asked of it: to start', () => {
    const walk = stopped(new MachineWalk({ spec: { runStrategy: 'Halted' } }).settle().disk(DISK.succeeded))
    walk.kubevirt({ printableStatus: 'Stopped', stateChangeRequests: [{ action: 'Start' }] })
    expect(walk.stand).toBe('Ready/Halted')
  })

  it('is switched off again where somebody starts it', () => {
    const walk = stopped(new MachineWalk({ spec: { runStrategy: 'Halted' } }).settle().disk(DISK.succeeded))
    walk.tamper({ spec: { runStrategy: 'Always' } }).settle()
    expect(strategyOf(walk)).toBe('Halted')
  })

  it('is never kicked while it is on its way there', () => {
    const walk = new MachineWalk()
      .settle()
      .disk(DISK.succeeded)
      .instance({ isReady: false })
      .kubevirt(KUBEVIRT.notReady)
    walk.edit({ runStrategy: 'Halted' }).settle().after(LIMIT).after(LIMIT)
    expect(writes(walk).filter((line) => line.startsWith('delete'))).toEqual([])
  })
})

describe('a machine that people start and stop', () => {
  const manual = () => stopped(new MachineWalk({ spec: { runStrategy: 'Manual' } }).settle().disk(DISK.succeeded))

  it('is Ready while it is off, and while it runs', () => {
    const walk = manual()
    expect([walk.stand, walk.message]).toEqual([
      'Ready/Halted',
      'the machine is off: virtctl start vm starts it (spec.runStrategy is Manual); its disk stays',
    ])
    expect(walk.after(10 * HOUR).stand).toBe('Ready/Halted')
    walk.instance({ phase: 'Scheduling', isReady: false }).kubevirt(said('Starting'))
    expect([walk.stand, walk.plan().requeue?.afterMs]).toEqual(['Provisioning/Starting', LIMIT])
    expect(walk.start().stand).toBe('Ready/Running')
    walk.set({ instance: anInstance({ isReady: false, unreadySince: walk.now }) }).kubevirt(said('Stopping'))
    expect(walk.stand).toBe('Provisioning/Stopping')
    expect(walk.message).not.toContain('started again')
    expect(stopped(walk).stand).toBe('Ready/Halted')
  })

  it('tells that its guest has failed', () => {
    const walk = manual().instance({ phase: 'Failed', isReady: false })
    expect([walk.stand, walk.message]).toEqual([
      'Ready/Halted',
      expect.stringContaining('the guest has failed, and is off'),
    ])
  })

  it('tells why it cannot be started', () => {
    const walk = manual().kubevirt({
      printableStatus: 'Stopped',
      conditions: [{ type: 'Failure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }],
    })
    expect(walk.stand).toBe('Failed/StartFailed')
  })

  it('is never kicked: nothing would start it again', () => {
    const walk = manual().instance({ isReady: false }).kubevirt(KUBEVIRT.notReady).after(LIMIT)
    expect([walk.stand, walk.status.kicks]).toEqual(['Failed/Timeout', undefined])
    expect(writes(walk).filter((line) => line.startsWith('delete'))).toEqual([])
  })

  it('runs on where that is wanted of one that runs', () => {
    const walk = new MachineWalk().deploy()
    const { instance } = walk.world
    walk.edit({ runStrategy: 'Manual' }).settle()
    expect([walk.stand, strategyOf(walk), walk.world.instance]).toEqual(['Ready/Running', 'Manual', instance])
  })
})
