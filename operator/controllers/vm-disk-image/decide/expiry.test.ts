import { LABELS } from '@open-terrain/constructs'
import { POLICY_DEFAULTS, parsePolicy, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { anImage } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { dueImages, noteOnDeletions } from './expiry.ts'

const named = (name: string, status: VMDiskImageStatus, metadata: object = {}) => {
  return anImage({ name, namespace: 'n', labels: { [LABELS.createdBy]: 'DataSync' }, ...metadata }, { status })
}
const at = (hours: number) => new Date(START + hours * HOUR).toISOString()
const left = (hours: number) => ({ unreferencedSince: at(hours), lastReferencedTime: at(hours) })
const images = [
  named('left-late', left(-1)),
  named('left-early', left(-3)),
  named('preloaded', { unreferencedSince: at(-9) }),
  named('in-use', { references: { count: 1, names: [] } }),
  named('of-a-user', left(-9), { labels: {} }),
  named('going', left(-9), { deletionTimestamp: at(0) }),
]

it.each<[string, Record<string, string>, [string, hours: number][]]>([
  [
    'at once, but no preloaded one',
    { unreferencedTTL: '0s' },
    [
      ['n/left-early', 0],
      ['n/left-late', 0],
    ],
  ],
  [
    'when their time is over',
    { unreferencedTTL: '2h' },
    [
      ['n/left-early', 0],
      ['n/preloaded', 0],
      ['n/left-late', 1],
    ],
  ],
  ['never, where the policy keeps them', { reclaimPolicy: 'Retain' }, []],
])('a change of the policy deletes images %s', (_when, data, expected) => {
  const { policy, problems } = parsePolicy(data, POLICY_DEFAULTS)
  expect(problems).toEqual([])
  expect(dueImages(images, policy, START).map(({ key, inMs }) => [key, inMs / HOUR])).toEqual(expected)
})

it('a change of the policy names the images that it deletes at once, and not those that would have gone anyway', () => {
  const policyOf = (data: Record<string, string>) => parsePolicy(data, POLICY_DEFAULTS).policy
  const note = (before: Record<string, string>, after: Record<string, string>) =>
    noteOnDeletions(images, policyOf(before), policyOf(after), START)
  expect(note({ unreferencedTTL: '2h' }, { unreferencedTTL: '0s' })).toEqual({
    type: 'Warning',
    reason: 'ImagesDue',
    message: expect.stringMatching(/: n\/left-late$/),
  })
  const ofPeople = note({}, { userReclaimPolicy: 'Delete', userUnreferencedTTL: '1h' })
  expect(ofPeople?.message).toMatch(/: n\/of-a-user$/)
  expect(note({ unreferencedTTL: '2h' }, { unreferencedTTL: '24h' })).toBeUndefined()
  expect(note({ concurrency: '1' }, { concurrency: '2' })).toBeUndefined()
})
