import type { VirtualMachineReason, VirtualMachineStatus } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { toTime } from '../../../runtime/conditions.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import { MINUTE, SECOND, START } from '../../../runtime/times.fixtures.ts'
import {
  isMachineStatusDue,
  type MachineStanding,
  MOVES_EVERY_MS,
  machineEventsBetween,
  type Remark,
  withMachineStanding,
  withPending,
} from './status.ts'

type Facts = Parameters<typeof withMachineStanding>[1]

const facts = (more: Partial<Facts> = {}): Facts => ({
  standing: { phase: 'Provisioning', reason: 'Cloning', message: 'it is cloned' },
  image: { namespace: 'farm', name: 'golden' },
  imageReady: { holds: true, reason: 'ImageReady', message: 'it can be cloned' },
  remarks: [],
  generation: 3,
  ...more,
})
const at = (phase: Facts['standing']['phase'], reason: VirtualMachineReason, message = 'm'): Partial<Facts> => ({
  standing: { phase, reason, message },
})
const statusOf = (more: Partial<Facts> = {}, before: VirtualMachineStatus = {}, now = START) =>
  withMachineStanding(before, facts(more), now)
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
    const theirs = { type: 'Theirs', status: 'True', reason: 'R', message: 'm' } as const
    expect(condition(statusOf({}, { conditions: [theirs] }), 'Theirs')).toEqual(theirs)
  })
})

describe('a machine that runs', () => {
  const restart: Remark = { type: 'RestartRequired', reason: 'RestartRequired', message: 'more memory' }
  const rebuild: Remark = { type: 'RebuildRequired', reason: 'RebuildRequired', message: 'other users' }
  const running: MachineStanding = { phase: 'Ready', reason: 'Running', message: 'it runs' }

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

const QUEUED_IMAGE = { namespace: 'farm', name: 'golden', queuePosition: 2 } as const

describe('a status is worth a write', () => {
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
    ['a reason', { conditions: statusOf(at('Provisioning', 'Starting')).conditions }],
    ['a remark', { conditions: statusOf({ remarks: [REMARK] }).conditions }],
  ])('at once when there is news: %s', (_what, change) => {
    expect(isMachineStatusDue(before, { ...before, ...change }, 0)).toBe(true)
  })

  it.each<[string, Partial<Facts>, Partial<Facts>, boolean]>([
    [
      'of trouble',
      at('Provisioning', 'StartFailed', 'no quota'),
      at('Provisioning', 'StartFailed', 'no webhook'),
      true,
    ],
    [
      'of trouble, but for its numbers',
      at('Provisioning', 'StartFailed', 'used: 3Gi'),
      at('Provisioning', 'StartFailed', 'used: 4Gi'),
      false,
    ],
    [
      'of a step',
      at('Provisioning', 'Starting', 'it starts'),
      at('Provisioning', 'Starting', 'it still starts'),
      false,
    ],
    ['of a remark', { remarks: [REMARK] }, { remarks: [{ ...REMARK, message: 'otherwise' }] }, true],
  ])('at once for another text that people have to act upon: %s', (_what, one, other, isNews) => {
    expect(isMachineStatusDue(statusOf(one), statusOf(other), MOVES_EVERY_MS - 1)).toBe(isNews)
    expect(isMachineStatusDue(statusOf(one), statusOf(other), MOVES_EVERY_MS)).toBe(true)
  })

  it('at once for the addresses of a machine that is ready', () => {
    const ready = statusOf(at('Ready', 'Running'))
    expect(isMachineStatusDue(ready, { ...ready, addresses: ['10.0.0.1'] }, 0)).toBe(true)
  })

  it('at once for another text of a failure, which somebody has to act upon', () => {
    const failed = (message: string) => statusOf(at('Failed', 'CloneFailed', message))
    expect(isMachineStatusDue(failed('a'), failed('b'), 0)).toBe(true)
  })

  it.each<[string, string, string, boolean]>([
    ['what it says beside', 'is being cloned, CDI says x', 'is being cloned, CDI says y', true],
    ['a share of something else', 'the volume is 41% full', 'the volume is 42% full', true],
  ])('at once for any other text of a failure, in which nothing moves: %s', (_what, a, b, isNews) => {
    const [one, other] = [statusOf(at('Failed', 'Timeout', a)), statusOf(at('Failed', 'Timeout', b))]
    expect(isMachineStatusDue(one, other, MOVES_EVERY_MS - 1)).toBe(isNews)
    expect(isMachineStatusDue(one, other, MOVES_EVERY_MS)).toBe(true)
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
    ['a text of a condition', { conditions: statusOf(at('Provisioning', 'Cloning', 'other')).conditions }],
  ])('every half minute for what moves all the time: %s', (_what, change) => {
    const old = { ...before, image: QUEUED_IMAGE, clone: { name: 'vm-root', progress: '1.0%' } }
    const next = { ...old, ...change }
    expect(isMachineStatusDue(old, next, MOVES_EVERY_MS - 1)).toBe(false)
    expect(isMachineStatusDue(old, next, MOVES_EVERY_MS)).toBe(true)
    expect(isMachineStatusDue(old, next, undefined)).toBe(true)
    expect(MOVES_EVERY_MS).toBe(30 * SECOND)
  })

  it('never when nothing differs, not even the order of conditions', () => {
    const same = { ...before, conditions: before.conditions?.toReversed() }
    expect(isMachineStatusDue(before, JSON.parse(JSON.stringify(before)), undefined)).toBe(false)
    expect(isMachineStatusDue(before, same, 0)).toBe(false)
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
    // A step of a way that has begun is in the status; trouble on it is an Event.
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
