import { type Attempt, VM_DISK_IMAGE_CONDITION_RULES, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { START } from '../../../test/prepared/runtime/times.ts'
import { anImage } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import { statesOfConditions } from '../../runtime/state-gauges.ts'
import { imageStates } from './image-states.ts'

const at = (minute: number) => new Date(START + minute * 60_000).toISOString()
const attempt = (minute: number, more: Partial<Attempt> = {}): Attempt => {
  return {
    number: 1,
    revision: 'r',
    outcome: 'Cancelled',
    reason: 'ImporterNotStarted',
    message: '',
    startedAt: at(minute),
    ...more,
  }
}
const settled = { type: 'Settled', status: 'False', reason: 'Queued', message: '', lastTransitionTime: at(0) } as const
const status = (attempts: readonly Attempt[], more: Partial<VMDiskImageStatus> = {}): VMDiskImageStatus => {
  return {
    phase: 'Queued',
    reason: 'RetryBackoff',
    revision: 'r',
    attempts: [...attempts],
    conditions: [settled],
    ...more,
  }
}
const since = (minute: number, reason: string) => [{ phase: 'Retrying', reason, since: START + minute * 60_000 }]

it.each<[string, VMDiskImageStatus, object[]]>([
  ['has not failed', status([]), []],
  ['tries again', status([attempt(5), attempt(20)]), since(5, 'ImporterNotStarted')],
  ['fails for another reason now', status([attempt(5), attempt(20, { reason: 'Stalled' })]), since(20, 'Stalled')],
  [
    'has failed with an earlier spec',
    status([attempt(5, { revision: 'q' }), attempt(20)]),
    since(20, 'ImporterNotStarted'),
  ],
  ['has only failed with an earlier spec', status([attempt(5, { revision: 'q' })]), []],
  [
    'tries again since somebody asked for it',
    status([attempt(5), attempt(20)], { conditions: [{ ...settled, lastTransitionTime: at(15) }] }),
    since(15, 'ImporterNotStarted'),
  ],
  ['has failed for good', status([attempt(5)], { phase: 'Failed' }), []],
  ['is suspended', status([attempt(5)], { reason: 'Suspended' }), []],
  ['was stopped on purpose', status([attempt(5, { reason: 'Suspended' })]), []],
])('an image that %s is told so apart from its steps', (_what, was, states) => {
  expect(imageStates(anImage({}, { status: was }))).toEqual(states)
})

it('an image with a warning has it as a state, and one that is being deleted does not try again', () => {
  const warning = {
    type: 'SourceWarning',
    status: 'True',
    reason: 'PackedSource',
    message: '',
    lastTransitionTime: at(3),
  } as const
  const image = anImage({ deletionTimestamp: at(9) }, { status: status([attempt(5)], { conditions: [warning] }) })
  expect(imageStates(image)).toEqual([])
  const warned = { phase: 'Queued', reason: 'PackedSource', since: START + 180_000 }
  expect(statesOfConditions(image, VM_DISK_IMAGE_CONDITION_RULES, START)).toEqual([warned])
})
