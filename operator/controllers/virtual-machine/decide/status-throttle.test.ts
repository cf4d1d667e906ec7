import type { VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND, START } from '../../../../test/prepared/runtime/times.ts'
import { at, type Facts, facts } from '../../../../test/prepared/virtual-machine/status-facts.ts'
import { toTime } from '../../../base/time.ts'
import { machineThrottleOf, type Remark, withMachineSummary } from './status.ts'

const statusOf = (more: Partial<Facts> = {}) => withMachineSummary({}, facts(more), START)
const statusAt = (...told: Parameters<typeof at>) => statusOf(at(...told))
const remarked = (message: string): VirtualMachineStatus =>
  statusOf({ remarks: [{ type: 'FullCopy', reason: 'FullCopy', message } satisfies Remark] })

const QUEUED_IMAGE = { namespace: 'farm', name: 'golden', queuePosition: 2 } as const

/** Asserts that the status is written `everyMs` after the last write, and that the requeue is due then. */
function expectEvery(everyMs: number, before: VirtualMachineStatus, after: VirtualMachineStatus, waiting = 1) {
  const early = machineThrottleOf(before, after, everyMs - 1, waiting)
  expect([early.isStatusDue, early.requeue?.afterMs]).toEqual([false, 1])
  expect(machineThrottleOf(before, after, everyMs, waiting)).toEqual({ isStatusDue: true })
  expect(machineThrottleOf(before, after, undefined, waiting)).toEqual({ isStatusDue: true })
}

describe('the status of a machine is written', () => {
  const before = statusOf()

  it.each<[string, VirtualMachineStatus]>([
    ['the phase', { phase: 'Failed' }],
    ['the generation that it is for', { observedGeneration: 4 }],
    ['the time that it began', { provisioningSince: toTime(START) }],
    ['a kick', { kicks: { count: 1 } }],
    ['its first start', { bootedAt: toTime(START) }],
    ['the disk', { clone: { name: 'vm-root' } }],
    ['another image', { image: { namespace: 'farm', name: 'other' } }],
    ['that its image has a place in the queue', { image: QUEUED_IMAGE }],
    ['a reason', { conditions: statusAt('Provisioning', 'Starting').conditions }],
    ['a remark', { conditions: remarked('it is copied').conditions }],
  ])('at once when there is news: %s', (_what, change) => {
    expect(machineThrottleOf(before, { ...before, ...change }, 0, 10_000)).toEqual({ isStatusDue: true })
  })

  it('at once for the addresses of a machine that is ready', () => {
    const ready = statusAt('Ready', 'Running')
    expect(machineThrottleOf(ready, { ...ready, addresses: ['10.0.0.1'] }, 0)).toEqual({ isStatusDue: true })
  })

  it.each<[string, (message: string) => VirtualMachineStatus]>([
    ['of trouble', (text) => statusAt('Provisioning', 'StartFailed', text)],
    ['of a failure', (text) => statusAt('Failed', 'CloneFailed', text)],
    ['of a remark', remarked],
  ])('every ten seconds for another text %s, however many machines wait', (_what, textOf) => {
    for (const waiting of [1, 10_000]) expectEvery(10 * SECOND, textOf('used: 3Gi'), textOf('used: 4Gi'), waiting)
  })

  it('at once for another text of a failure with which something is deleted', () => {
    const [used, other] = ['no node', 'its source is gone'].map((text) => statusAt('Failed', 'Timeout', text))
    if (!(used && other)) throw new Error('a status is missing')
    expect(machineThrottleOf(used, other, 0, 1, true)).toEqual({ isStatusDue: true })
  })

  it.each<[string, VirtualMachineStatus]>([
    ['addresses of a machine that is not ready', { addresses: ['10.0.0.1'] }],
    ['progress', { clone: { name: 'vm-root', progress: '2.0%', progressTime: '2026-01-01T00:00:00Z' } }],
    ['the phase of the disk', { clone: { name: 'vm-root', uid: 'u', phase: 'CloneInProgress', progress: '1.0%' } }],
    ['KubeVirt’s state', { kubevirt: { name: 'vm', printableStatus: 'Starting', nodeName: 'node-1' } }],
    ['the phase of the image', { image: { ...QUEUED_IMAGE, phase: 'Failed' } }],
    ['that its image has none any more', { image: { ...QUEUED_IMAGE, queuePosition: undefined } }],
    ['another place in the queue', { image: { ...QUEUED_IMAGE, queuePosition: 1 } }],
    ['a text', { message: 'other' }],
    ['a text of a condition', { conditions: statusAt('Provisioning', 'Cloning', 'other').conditions }],
  ])('every half minute for what moves all the time: %s', (_what, change) => {
    const old = { ...before, image: QUEUED_IMAGE, clone: { name: 'vm-root', progress: '1.0%' } }
    expectEvery(30 * SECOND, old, { ...old, ...change })
    expectEvery(30 * SECOND, old, { ...old, ...change }, 30)
  })

  it('less often for what moves where many wait for the same image: once a second for all of them', () => {
    expectEvery(2 * MINUTE, before, { ...before, message: 'other' }, 120)
  })

  it('never when nothing differs, not even the order of conditions', () => {
    const same = { ...before, conditions: before.conditions?.toReversed() }
    expect(machineThrottleOf(before, JSON.parse(JSON.stringify(before)))).toEqual({ isStatusDue: false })
    expect(machineThrottleOf(before, same, 0).isStatusDue).toBe(false)
  })
})
