import { ANNOTATIONS } from '@open-terrain/constructs'
import type { Attempt, VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { aDataVolume } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { attemptOf } from '../../../cluster/import-facts.ts'
import { nextAttempt, recordCancel, subjectOf } from './attempts.ts'

const dataVolumeOf = (attempt: string | undefined) => ({
  apiVersion: 'cdi.kubevirt.io/v1beta1',
  kind: 'DataVolume',
  metadata: { name: 'x', ...(attempt !== undefined && { annotations: { [ANNOTATIONS.attempt]: attempt } }) },
})

describe('the number of an attempt', () => {
  it.each([
    ['2', 2],
    [undefined, 1],
    ['', 1],
    ['x', 1],
    ['0', 1],
    ['-1', 1],
    ['1.5', 1],
    ['NaN', 1],
    ['Infinity', 1],
  ])('is that of its DataVolume, or 1 where somebody wrote %j', (text, number) => {
    expect(attemptOf(dataVolumeOf(text))).toBe(number)
  })

  it.each(['9007199254740991', '1e300'])('leaves room for a next one where somebody wrote %s', (text) => {
    let number = attemptOf(dataVolumeOf(text))
    for (let retry = 0; retry < 3; retry += 1) {
      const failed = { number, revision: 'r', outcome: 'Failed', reason: 'x', message: '' } satisfies Attempt
      const next = nextAttempt({ revision: 'r', budget: { key: '', downloads: 1 }, attempts: [failed] })
      // A DataVolume of an earlier attempt than the next one is removed.
      expect(attemptOf(dataVolumeOf(String(next)))).toBe(next)
      expect(Number.isSafeInteger(next)).toBe(true)
      number = next
    }
  })
})

it.each([
  ['as the status says, for its revision', '01234567', 'argocd'],
  ['that is not known, for another one', '89abcdef', undefined],
])('who asked for a download is the one %s', (_who, revision, expected) => {
  const written: VMDiskImageStatus = { revision: '01234567', requestedBy: 'argocd' }
  expect(subjectOf(aDataVolume(), written, revision).requestedBy).toBe(expected)
})

it('a failure stays on record however many downloads that nobody asked for are stopped after it', () => {
  const failed = { number: 1, revision: 'r', outcome: 'Failed', reason: 'NotFound', message: '' } satisfies Attempt
  const stray = (uid: string) => ({
    uid,
    number: 1,
    revision: 'r',
    createdAt: undefined,
    restarts: 0,
    requestedBy: undefined,
  })
  let status: VMDiskImageStatus = { phase: 'Failed', attempts: [failed] }
  for (let at = 0; at < 9; at += 1) status = recordCancel(status, stray(`uid-${at}`), 'SpecChanged', '', START)
  expect(status.attempts?.map(({ outcome, dataVolumeUID }) => dataVolumeUID ?? outcome)).toEqual([
    'Failed',
    'uid-5',
    'uid-6',
    'uid-7',
    'uid-8',
  ])
})
