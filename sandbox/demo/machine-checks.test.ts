import { describe, expect, it } from 'vitest'
import { MACHINE_NAME, TEMPLATED } from './cast.ts'
import type { Evidence } from './evidence.ts'
import type { Entry, Fact } from './facts.ts'
import { diesAfterItsUsers, standsUpByItself } from './machine-checks.ts'

const USER = `VirtualMachine/default/${MACHINE_NAME}`
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const meta = (name: string, more: object = {}) => ({ name, uid: name, namespace: 'default', generation: 1, ...more })

const machine = (phase: string, reason: string, more: object = {}, status: object = {}) => ({
  kind: 'machine',
  metadata: meta(MACHINE_NAME, more),
  status: { phase, ...status },
  reason,
})
const queued = { image: { queuePosition: 3, queuePositionTime: '2026-01-01T00:00:00Z' } }
const image = (isReady: boolean, more: object = {}, blocked?: string) => ({
  kind: 'image',
  metadata: meta(TEMPLATED, more),
  status: isReady ? { artifact: { name: 'snapshot' } } : {},
  reason: '',
  isReady,
  blocked,
})
const disk = (phase: string) => ({ kind: 'disk', metadata: meta('root'), machineUid: MACHINE_NAME, phase })
const kubevirt = (printableStatus: string) => {
  return { kind: 'kubevirt', metadata: meta(MACHINE_NAME), machineUid: MACHINE_NAME, printableStatus }
}
const snapshot = { kind: 'snapshot', metadata: meta('snapshot'), isReady: true }

/** What an observer sees if all goes well, in order. Deletions have a cross. */
const STORY = {
  'machine created': machine('', ''),
  'image created': image(false),
  'machine waits': machine('Provisioning', 'WaitingForImage', {}, queued),
  'snapshot taken': snapshot,
  'image ready': image(true),
  'disk created': disk('CloneScheduled'),
  'KubeVirt starts': kubevirt('Starting'),
  'disk cloned': disk('Succeeded'),
  'KubeVirt runs': kubevirt('Running'),
  'machine ready': machine('Ready', 'Running', {}, { addresses: ['10.0.0.1'] }),
  'image deleted': image(true, DELETED),
  'image blocked': image(true, DELETED, `deletion is blocked: the image is used by ${USER}`),
  'machine deleted': machine('Provisioning', 'Deleting', { ...DELETED, generation: 2 }),
  'disk gone ✗': disk('Succeeded'),
  'snapshot gone ✗': snapshot,
  'image gone ✗': image(true, DELETED),
  'machine gone ✗': machine('Provisioning', 'Deleting', DELETED),
}
type Moment = keyof typeof STORY

const toEvidence = (story: readonly (readonly [string, object])[], left: readonly string[] = []): Evidence => {
  const journal = story.map(([moment, fact], at): Entry => {
    return { revision: String(at + 1), at: 10 * at, isDeleted: moment.endsWith('✗'), fact: fact as Fact }
  })
  return { journal, acts: { machine: { left } } } as unknown as Evidence
}
const story = Object.entries(STORY)
const without = (moment: Moment) => toEvidence(story.filter(([one]) => one !== moment))
const changed = (moment: Moment, fact: object) =>
  toEvidence(story.map(([one, before]) => [one, one === moment ? fact : before]))
/** Returns the evidence if one moment happens right before another. */
const moved = (moment: Moment, before: Moment) => {
  const others = story.filter(([one]) => one !== moment)
  const place = others.findIndex(([one]) => one === before)
  return toEvidence(others.toSpliced(place, 0, [moment, STORY[moment]]))
}

describe('a machine that comes before its image', () => {
  it('is reported with its place in the queue and its address', () => {
    expect(standsUpByItself(toEvidence(story))).toMatchObject({
      held: true,
      detail: expect.stringMatching(/place 3 of the queue.*Ready at 10\.0\.0\.1/),
    })
  })

  it.each<[Evidence, string]>([
    [moved('image created', 'machine created'), 'its image was created before the machine was created'],
    [moved('disk created', 'image ready'), 'the disk was created before the image was ready'],
    [moved('machine ready', 'KubeVirt runs'), 'the machine was Ready before KubeVirt ran the machine'],
    [without('machine ready'), 'it was never seen that the machine was Ready'],
    [without('KubeVirt runs'), 'it was never seen that KubeVirt ran the machine'],
    [without('machine waits'), 'it never reported its place in the queue while it waited for its image'],
    [
      changed('machine waits', machine('Provisioning', 'WaitingForImage', {}, { image: { queuePosition: 3 } })),
      'it never reported its place in the queue while it waited for its image',
    ],
    [changed('machine ready', machine('Ready', 'Running', { generation: 2 })), 'somebody changed its spec'],
  ])('has not held where it was otherwise (%#)', (evidence, problem) => {
    expect(standsUpByItself(evidence)).toMatchObject({ held: false, detail: expect.stringContaining(problem) })
  })
})

describe('an image that is deleted while a machine uses it', () => {
  it('is reported with its condition, and how soon it went after its user', () => {
    expect(diesAfterItsUsers(toEvidence(story))).toMatchObject({
      held: true,
      detail: expect.stringMatching(
        new RegExp(`"deletion is blocked: the image is used by ${USER}"; gone 20 ms after the disk`),
      ),
    })
  })

  it.each<[Evidence, string]>([
    [without('image blocked'), 'it was never seen that its condition DeletionBlocked was True'],
    [changed('image blocked', image(true, DELETED, 'somebody uses it')), `DeletionBlocked does not name ${USER}`],
    [moved('snapshot gone ✗', 'disk gone ✗'), 'the snapshot of the image was gone before its disk was gone'],
    [moved('image gone ✗', 'snapshot gone ✗'), 'the image was gone before the snapshot of the image was gone'],
    [without('image gone ✗'), 'it was never seen that the image was gone'],
    [without('machine gone ✗'), 'the machine is still there'],
    [
      changed('machine deleted', machine('Failed', 'ImageTerminating')),
      'its disk was gone before the machine was deleted',
    ],
    [toEvidence(story, ['Secret desk']), 'Secret desk is left of the machine'],
  ])('has not held where it was otherwise (%#)', (evidence, problem) => {
    expect(diesAfterItsUsers(evidence)).toMatchObject({ held: false, detail: expect.stringContaining(problem) })
  })

  it('leaves the machine Ready until that is deleted itself', () => {
    const [before, after] = [story.slice(0, 12), story.slice(12)]
    const disturbed = [...before, ['machine suffers', machine('Failed', 'ImageTerminating')] as const, ...after]
    expect(diesAfterItsUsers(toEvidence(disturbed)).detail).toBe(
      'the machine was not Ready until it was deleted itself',
    )
  })
})
