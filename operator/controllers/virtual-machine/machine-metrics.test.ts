import { VIRTUAL_MACHINE_CONDITION_RULES, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { START } from '../../../test/prepared/runtime/times.ts'
import { aVM } from '../../../test/prepared/virtual-machine/machine-objects.ts'
import { statusWithBug } from '../../runtime/plan-writer.ts'
import { statesOfConditions } from '../../runtime/state-gauges.ts'
import { failed, waiting } from './decide/machine-plan.ts'
import { type MachineSummary, type Remark, withMachineSummary } from './decide/status.ts'
import { MachineMetrics } from './machine-metrics.ts'

let registry = new Registry()
let metrics = new MachineMetrics(registry, { now: () => START + 60_000 })
beforeEach(() => {
  registry = new Registry()
  metrics = new MachineMetrics(registry, { now: () => START + 60_000 })
})

/** Lines of the exposition text that are about this metric. */
async function lines(name: string): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith(name))
}

const statusOf = (summary: MachineSummary, remarks: readonly Remark[] = []): VirtualMachineStatus => {
  const imageReady = { holds: true, reason: 'ImageReady', message: '' } as const
  return withMachineSummary({}, { summary, image: undefined, imageReady, remarks, generation: 1 }, START)
}
const RUNNING: MachineSummary = { phase: 'Ready', reason: 'Running', message: '' }
const COPY: Remark = { type: 'FullCopy', reason: 'FullCopy', message: '' }
const told = (status: VirtualMachineStatus) =>
  statusWithBug(aVM({}, { status }), new Error('odd'), START) as VirtualMachineStatus

describe('the gauges', () => {
  it('are what there is when they are read, and empty where nobody leads', async () => {
    const statuses = [
      statusOf(RUNNING),
      statusOf({ phase: 'Ready', reason: 'IgnoredOnDeploy', message: '' }),
      statusOf(RUNNING, [COPY]),
      statusOf(waiting('WaitingForImage', '')),
      statusOf(waiting('WaitingForImage', ''), [COPY]),
      statusOf(failed('Timeout', '')),
    ]
    metrics.readFrom(() => statuses.map((status) => ({ status })))
    expect(await lines('ot_vm_phase{')).toEqual([
      'ot_vm_phase{phase="Provisioning"} 2',
      'ot_vm_phase{phase="Failed"} 1',
      'ot_vm_phase{phase="Ready"} 3',
    ])
    expect(await lines('ot_vm_waiting{')).toEqual([
      'ot_vm_waiting{reason="WaitingForImage"} 2',
      'ot_vm_waiting{reason="Timeout"} 1',
    ])
    expect(await lines('ot_vm_ready{')).toEqual([
      'ot_vm_ready{reason="Running"} 2',
      'ot_vm_ready{reason="IgnoredOnDeploy"} 1',
    ])
    expect(await lines('ot_vm_full_copies')).toEqual(['ot_vm_full_copies 2'])

    statuses.splice(0, 5)
    expect(await lines('ot_vm_waiting{')).toEqual(['ot_vm_waiting{reason="Timeout"} 1'])
    expect(await lines('ot_vm_phase{phase="Ready"}')).toEqual(['ot_vm_phase{phase="Ready"} 0'])

    metrics.readFrom(undefined)
    const left = [...(await lines('ot_vm_phase{')), ...(await lines('ot_vm_full_copies'))]
    expect([left.length, left.filter((line) => !line.endsWith(' 0'))]).toEqual([4, []])
    expect(await lines('ot_vm_waiting{')).toEqual([])
  })

  it('count those that are outdated, by reason', async () => {
    const of = (status: 'True' | 'False' | 'Unknown', reason: string): { status: VirtualMachineStatus } => ({
      status: { conditions: [{ type: 'UpToDate', status, reason, message: '' }] },
    })
    const all = [of('False', 'SpecChanged'), of('False', 'SpecChanged'), of('False', 'Cloning')]
    metrics.readFrom(() => [...all, of('True', 'UpToDate'), of('Unknown', 'NotRecorded'), { status: {} }])
    expect(await lines('ot_vm_outdated{')).toEqual([
      'ot_vm_outdated{reason="SpecChanged"} 2',
      'ot_vm_outdated{reason="ImageRefreshed"} 0',
      'ot_vm_outdated{reason="RestartRequired"} 0',
    ])
  })

  it('tell how long the machine that has waited longest has waited', async () => {
    metrics.readFrom(() => [{ status: statusOf(waiting('Cloning', '')) }, { status: statusOf(RUNNING) }])
    expect(await lines('ot_vm_longest_wait_seconds')).toEqual(['ot_vm_longest_wait_seconds 60'])
  })

  it('count a machine that has no status yet as one that is provisioned, for no reason that is known', async () => {
    metrics.readFrom(() => [{ status: {} }])
    expect(await lines('ot_vm_phase{phase="Provisioning"}')).toEqual(['ot_vm_phase{phase="Provisioning"} 1'])
    expect(await lines('ot_vm_waiting{')).toEqual([])
  })

  it.each<[string, VirtualMachineStatus]>([
    ['from the start', {}],
    ['later', statusOf(waiting('Cloning', ''))],
  ])('name a fault of ours: %s', async (_when, status) => {
    metrics.readFrom(() => [{ status: told(status) }])
    expect(await lines('ot_vm_waiting{')).toEqual(['ot_vm_waiting{reason="InternalError"} 1'])
  })
})

describe('a kick', () => {
  const change = async (before: number | undefined, after: number | undefined): Promise<string[]> => {
    const kicks = (count: number | undefined) => (count === undefined ? undefined : { count })
    metrics.kicked(kicks(before), kicks(after))
    return await lines('ot_vm_kicks_total')
  }

  it.each<[number | undefined, number | undefined, number]>([
    [undefined, 1, 1],
    [1, 2, 1],
    [1, 3, 2],
    [2, 2, 0],
    [undefined, undefined, 0],
    [2, undefined, 0],
    // In between, the machine was ready or its spec changed.
    [3, 1, 1],
  ])('is what a status tells more than before: from %s to %s are %d', async (before, after, count) => {
    expect(await change(before, after)).toEqual([`ot_vm_kicks_total ${count}`])
  })
})

it('tells how long a machine took to become Ready, once', async () => {
  const registry = new Registry()
  const metrics = new MachineMetrics(registry, { now: () => START + 60_000 })
  const ready = { type: 'Ready', status: 'True', reason: 'Running', message: '' } as const
  const before = { phase: 'Provisioning', provisioningSince: '2026-01-01T00:00:00.000Z' } as const
  const after = { phase: 'Ready', conditions: [{ ...ready, lastTransitionTime: '2026-01-01T00:00:42.000Z' }] } as const
  metrics.provisioned(before, { ...before })
  metrics.provisioned(before, after as never)
  metrics.provisioned(after as never, after as never)
  const text = await registry.getSingleMetricAsString('ot_vm_provision_seconds')
  expect(text).toContain('ot_vm_provision_seconds_sum 42')
  expect(text).toContain('ot_vm_provision_seconds_count 1')
})

it('has a state for each warning, and none for news', () => {
  const news: Remark = { type: 'AddedByOthers', reason: 'AddedByOthers', message: '' }
  const vm = aVM({}, { status: statusOf(RUNNING, [COPY, news]) })
  expect(statesOfConditions(vm, VIRTUAL_MACHINE_CONDITION_RULES, START)).toEqual([
    { phase: 'Ready', reason: 'FullCopy', since: START },
  ])
})
