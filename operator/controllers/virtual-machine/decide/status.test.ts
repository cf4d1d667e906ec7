import type { VirtualMachineReason, VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import { at, type Facts, facts } from '../../../../test/prepared/virtual-machine/status-facts.ts'
import { toTime } from '../../../base/time.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { type MachineSummary, machineEventsBetween, type Remark, withMachineSummary, withPending } from './status.ts'

const statusOf = (more: Partial<Facts> = {}, before: VirtualMachineStatus = {}, now = START) =>
  withMachineSummary(before, facts(more), now)
const condition = ({ conditions }: VirtualMachineStatus, type: string) => conditions?.find((one) => one.type === type)
const REMARK: Remark = { type: 'FullCopy', reason: 'FullCopy', message: 'it is copied' }

describe('the conditions', () => {
  it.each([
    ['Provisioning', 'Cloning', ['False', 'True', 'False', 'False'], ['m', 'm', '', '']],
    ['Failed', 'Timeout', ['False', 'False', 'True', 'True'], ['m', '', 'm', '']],
    ['Ready', 'Running', ['True', 'False', 'False', 'True'], ['m', '', '', '']],
  ] as const)('of %s say so, all for the reason %s', (phase, reason, holds, messages) => {
    const status = statusOf(at(phase, reason))
    const shown = ['Ready', 'Reconciling', 'Stalled', 'Settled'].map((type) => condition(status, type))
    expect(shown.map((one) => one?.status)).toEqual(holds)
    expect(shown.map((one) => one?.message)).toEqual(messages)
    expect(new Set(shown.map((one) => one?.reason))).toEqual(new Set([reason]))
    expect(reasonOf(status)).toBe(reason)
    expect(status).toMatchObject({ phase, message: 'm', observedGeneration: 3 })
  })

  it.each([
    [true, 'True'],
    [false, 'False'],
  ])('tell whether the image is ready: %s', (holds, expected) => {
    const imageReady = { holds, reason: 'ImageFailed', message: 'got 404' } as const
    expect(condition(statusOf({ imageReady }), 'ImageReady')).toMatchObject({
      status: expected,
      reason: 'ImageFailed',
      message: 'got 404',
    })
  })

  it('are for the generation that was looked at', () => {
    for (const one of statusOf().conditions ?? []) expect(one.observedGeneration).toBe(3)
  })

  it('keep their time until they change', () => {
    const first = statusOf()
    const later = statusOf(at('Provisioning', 'Starting', 'other'), first, START + MINUTE)
    expect(condition(later, 'Ready')).toMatchObject({ reason: 'Starting', lastTransitionTime: toTime(START) })
    const last = statusOf(at('Ready', 'Running'), later, START + 2 * MINUTE)
    expect(condition(last, 'Ready')?.lastTransitionTime).toBe(toTime(START + 2 * MINUTE))
    expect(condition(last, 'Stalled')?.lastTransitionTime).toBe(toTime(START))
  })

  it('hold remarks as long as they are made', () => {
    const first = statusOf({ remarks: [REMARK] })
    expect(condition(first, 'FullCopy')).toMatchObject({ status: 'True', reason: 'FullCopy', message: 'it is copied' })
    expect(condition(statusOf({}, first), 'FullCopy')).toBeUndefined()
  })

  it('of others stay', () => {
    const theirs = { type: 'Theirs', status: 'True', reason: 'R', message: 'm' }
    const before = { conditions: [theirs] } as unknown as VirtualMachineStatus
    expect(statusOf({}, before).conditions).toContainEqual(theirs)
  })
})

describe('a machine that runs', () => {
  const restart: Remark = { type: 'RestartRequired', reason: 'RestartRequired', message: 'more memory' }
  const rebuild: Remark = { type: 'RebuildRequired', reason: 'RebuildRequired', message: 'other users' }
  const running: MachineSummary = { phase: 'Ready', reason: 'Running', message: 'it runs' }

  it('says first what it waits for', () => {
    expect(withPending(running, [REMARK])).toBe(running)
    expect(withPending(running, [REMARK, restart])).toEqual({
      ...running,
      reason: 'RestartRequired',
      message: 'it runs; more memory',
    })
    expect(withPending(running, [restart, rebuild])).toEqual({
      ...running,
      reason: 'RebuildRequired',
      message: 'it runs; other users; more memory',
    })
  })

  it('says so only while it runs', () => {
    for (const other of [
      { ...running, reason: 'Halted' },
      { ...running, phase: 'Failed', reason: 'Timeout' },
    ] as const)
      expect(withPending(other, [restart, rebuild])).toBe(other)
  })
})

describe('a status', () => {
  it('has no member that is undefined, which would be a change for ever', () => {
    const status = statusOf({ image: undefined, generation: undefined })
    expect(Object.values(status)).not.toContain(undefined)
    for (const one of status.conditions ?? []) expect(Object.values(one)).not.toContain(undefined)
  })

  it('is cut where its message is too long to be taken', () => {
    const { message, conditions } = statusOf(at('Failed', 'CloneFailed', 'x'.repeat(5_000)))
    expect(message).toHaveLength(4_000)
    expect(conditions?.find(({ type }) => type === 'Stalled')?.message).toBe(message)
  })
})

describe('events', () => {
  const told = (before: VirtualMachineStatus, after: VirtualMachineStatus) =>
    machineEventsBetween(before, after).map(({ type, reason, message }) => `${type} ${reason}: ${message}`)

  it.each<[VirtualMachineReason, 'Normal' | 'Warning']>([
    ['WaitingForImage', 'Normal'],
    ['ImageMissing', 'Normal'],
    ['ImageSyncing', 'Normal'],
    ['ImageFailed', 'Warning'],
    ['ImageTerminating', 'Warning'],
    ['ImageNotFound', 'Warning'],
    ['Cloning', 'Normal'],
    ['CloneFailed', 'Warning'],
    ['CloneSourceGone', 'Warning'],
    ['Starting', 'Normal'],
    ['StartFailed', 'Warning'],
    ['WaitingForVolumeBinding', 'Normal'],
    ['CrashLoop', 'Warning'],
    ['Unschedulable', 'Warning'],
    ['GuestStopped', 'Normal'],
    ['Paused', 'Normal'],
    ['Kicked', 'Warning'],
    ['KickBudgetSpent', 'Warning'],
    ['Timeout', 'Warning'],
    ['NameConflict', 'Warning'],
    ['NamesakeTerminating', 'Normal'],
    ['InvalidSpec', 'Warning'],
    ['MissingPasswordSecret', 'Warning'],
    ['MissingUserDataSecret', 'Warning'],
    ['KubeVirtMissing', 'Warning'],
    ['CDIMissing', 'Warning'],
    ['NamespaceTerminating', 'Warning'],
    ['Refused', 'Warning'],
    ['Running', 'Normal'],
    ['IgnoredOnDeploy', 'Normal'],
    ['NotDeployedAnyMore', 'Normal'],
    ['Deleting', 'Normal'],
  ])('of %s are %s, once as long as it lasts', (reason, type) => {
    const status = statusOf(at('Provisioning', reason))
    expect(told({}, status)).toEqual([`${type} ${reason}: m`])
    expect(told(status, statusOf(at('Provisioning', reason, 'other'), status))).toEqual([])
    // A later step of provisioning is only in the status; trouble is an Event.
    const step = told(statusOf(at('Provisioning', 'ImageNotFound')), status)
    expect(step).toEqual(type === 'Normal' || reason === 'ImageNotFound' ? [] : [`${type} ${reason}: m`])
  })

  it('are two of a machine that goes well', () => {
    const way: Partial<Facts>[] = [
      at('Provisioning', 'WaitingForImage'),
      at('Provisioning', 'ImageSyncing'),
      at('Provisioning', 'Cloning'),
      at('Provisioning', 'WaitingForVolumeBinding'),
      at('Provisioning', 'Starting'),
      at('Provisioning', 'NotReady'),
      at('Ready', 'Running'),
    ]
    const statuses = [{}, ...way.map((one) => statusOf(one))]
    const all = statuses.slice(1).flatMap((after, index) => told(statuses[index] ?? {}, after))
    expect(all).toEqual(['Normal WaitingForImage: m', 'Normal Running: m'])
  })

  it('tell what a machine that runs waits for once, as a remark', () => {
    const restart: Remark = { type: 'RestartRequired', reason: 'RestartRequired', message: 'more memory' }
    const [before, after] = [
      statusOf(at('Ready', 'Running')),
      statusOf({ ...at('Ready', 'RestartRequired'), remarks: [restart] }),
    ]
    expect(told(before, after)).toEqual(['Warning RestartRequired: more memory'])
    expect(told(after, before)).toEqual([])
    expect(told(before, statusOf(at('Ready', 'IgnoredOnDeploy')))).toEqual(['Normal IgnoredOnDeploy: m'])
  })

  it('tell each remark once, and again when it says something else', () => {
    const before = statusOf({ remarks: [REMARK] })
    expect(told(statusOf(), before)).toEqual(['Warning FullCopy: it is copied'])
    expect(told(before, statusOf({ remarks: [REMARK] }, before))).toEqual([])
    const other = statusOf({ remarks: [{ ...REMARK, message: 'again' }] }, before)
    expect(told(before, other)).toEqual(['Warning FullCopy: again'])
    expect(told(other, statusOf({}, other))).toEqual([])
  })

  it('come first about where the machine stands, then about remarks', () => {
    const after = statusOf({ ...at('Ready', 'Running'), remarks: [REMARK] })
    expect(told(statusOf(), after)).toEqual(['Normal Running: m', 'Warning FullCopy: it is copied'])
  })

  it('of a status without conditions are none', () => {
    expect(machineEventsBetween(statusOf(), {})).toEqual([])
    expect(reasonOf({})).toBeUndefined()
  })
})
