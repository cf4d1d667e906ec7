import { describe, expect, it } from 'vitest'
import { MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import { aMachine, anInstance, type KubeVirtStatus } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { aRunningWorld } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import { planMachine } from './plan.ts'

const RETRIED = 'pelotech.ot/retried-at'
const condition = (type: string, status: string, reason = 'FailedCreate') => ({
  type,
  status,
  reason,
  message: 'no such policy',
  lastTransitionTime: toTime(START),
})
const REFUSED: KubeVirtStatus = { printableStatus: 'Stopped', conditions: [condition('Failure', 'True')] }
const POD_REFUSED: KubeVirtStatus = { printableStatus: 'Starting', conditions: [condition('Synchronized', 'False')] }
const RUNNING: KubeVirtStatus = { printableStatus: 'Running', conditions: [condition('Failure', 'True')] }

/** @param afterMs time since the refusal */
function plan(status: KubeVirtStatus, afterMs: number, retriedAfterMs?: number, more = {}) {
  const annotations: Record<string, string> =
    retriedAfterMs === undefined ? {} : { [RETRIED]: toTime(START + retriedAfterMs) }
  const instance =
    status.printableStatus === 'Stopped'
      ? undefined
      : anInstance(
          { phase: status.printableStatus === 'Running' ? 'Running' : 'Pending', isReady: false },
          { annotations },
        )
  const world = aRunningWorld({ machine: aMachine(status, { annotations }), instance, ...more })
  return planMachine(world, START + afterMs)
}

describe('what KubeVirt could not create', () => {
  it.each<[at: number, last: number | undefined, due: boolean]>([
    [0, undefined, false],
    [0.9, undefined, false],
    [1, undefined, true],
    [1.5, 1, false],
    [2.9, 1, false],
    [3, 1, true],
    [6.9, 3, false],
    [7, 3, true],
    [11.9, 7, false],
    [12, 7, true],
    [16.9, 12, false],
    [17, 12, true],
    // The last retry was before this refusal began.
    [0.5, -10, false],
    [1, -10, true],
    // No replica led for a while.
    [600, 12, true],
  ])('is tried again after %s min, the last time being %s: %s', (at, last, due) => {
    const { touch, requeue } = plan(REFUSED, at * MINUTE, last === undefined ? undefined : last * MINUTE)
    const annotations = { [RETRIED]: toTime(START + at * MINUTE) }
    const poke = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      namespace: 'team',
      name: 'vm',
      uid: 'uid of vm',
    }
    expect(touch).toEqual(due ? [{ ...poke, annotations }] : undefined)
    expect(requeue?.afterMs).toBeGreaterThan(0)
    expect(requeue?.afterMs).toBeLessThanOrEqual(5 * MINUTE)
  })

  it('is tried again by a change of the instance where its pod is refused', () => {
    expect(plan(POD_REFUSED, MINUTE).touch).toMatchObject([{ kind: 'VirtualMachineInstance', uid: 'instance-1' }])
  })

  it('is tried again though the machine has failed for its time', () => {
    const status = { observedGeneration: 1, provisioningSince: toTime(START) }
    const late = plan(POD_REFUSED, 60 * MINUTE, undefined, { status })
    expect([late.status.phase, late.touch?.length]).toEqual(['Failed', 1])
  })

  it.each<[string, KubeVirtStatus, object]>([
    ['a guest that runs', RUNNING, {}],
    ['a machine that is off', REFUSED, { spec: { runStrategy: 'Halted' } }],
    ['a machine that is being deleted', REFUSED, { metadata: { deletionTimestamp: toTime(START) } }],
    ['a machine whose namespace is being deleted', REFUSED, { namespaceTerminating: true }],
    ['another failure', { printableStatus: 'Stopped', conditions: [condition('Failure', 'True', 'FailedDelete')] }, {}],
  ])('is not tried again for %s', (_what, status, more) => {
    expect(plan(status, 60 * MINUTE, undefined, more).touch).toBeUndefined()
  })
})
