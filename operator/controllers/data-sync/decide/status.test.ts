import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { aDataSyncWorld, dataSyncOf, Images, NOW } from '../../../../test/prepared/data-sync/data-sync-world.ts'
import { planDataSync } from './plan.ts'
import { dataSyncEventsBetween } from './status.ts'

const vms = ['a', 'b', 'c'].map((name) => ({ name, url: `https://images.example/${name}` }))
const lab = dataSyncOf({ workspaceId: '035', sourceType: 'http', vms })

const waiting: VMDiskImageStatus = {
  phase: 'Queued',
  reason: 'SecretMissing',
  message: 'Secret farm/login does not exist',
}
const syncing: VMDiskImageStatus = { phase: 'Syncing', reason: 'Syncing', progress: '35.9%' }
const snapshotting: VMDiskImageStatus = { phase: 'Snapshotting', reason: 'Snapshotting', progress: '100.0%' }
const ready: VMDiskImageStatus = { phase: 'Succeeded', reason: 'Synced' }
const failed: VMDiskImageStatus = { phase: 'Failed', reason: 'NotFound', message: 'the server answers 404' }

function statusOf(...statuses: VMDiskImageStatus[]) {
  const images = new Images()
  for (const [at, image] of planDataSync(aDataSyncWorld(lab), NOW).apply.entries()) {
    images.put(image)
    images.tell(image.metadata.name, statuses[at] ?? {})
  }
  return planDataSync(aDataSyncWorld(lab, images), NOW).status
}

describe('the status of a DataSync', () => {
  it.each<[string, string, string, string, VMDiskImageStatus[]]>([
    ['one is downloaded', 'Syncing', 'Syncing', '45.3%', [syncing, failed, ready]],
    ['one is made a snapshot of', 'Syncing', 'Syncing', '33.3%', [waiting, waiting, snapshotting]],
    ['one waits', 'Queued', 'Queued', '33.3%', [waiting, failed, ready]],
    ['one says nothing yet', 'Queued', 'Queued', '66.7%', [{}, ready, ready]],
    ['one failed, and nothing is under way', 'Failed', 'ImageFailed', '66.7%', [ready, failed, ready]],
    ['all are ready', 'Succeeded', 'Synced', '100.0%', [ready, ready, ready]],
  ])('is, where %s: %s', (_what, phase, reason, progress, statuses) => {
    const status = statusOf(...statuses)
    expect(status).toMatchObject({ phase, reason, progress })
    const counts = status.counts ?? { total: 0, succeeded: 0, syncing: 0, queued: 0, failed: 0 }
    expect(counts.total).toBe(3)
    expect(counts.succeeded + counts.syncing + counts.queued + counts.failed).toBe(3)
    expect(status.ready).toBe(`${counts.succeeded}/3`)
    const isTrue = Object.fromEntries((status.conditions ?? []).map((one) => [one.type, one.status === 'True']))
    const isSettled = phase === 'Succeeded' || phase === 'Failed'
    expect(isTrue).toEqual({
      Ready: phase === 'Succeeded',
      Reconciling: !isSettled,
      Stalled: phase === 'Failed',
      Settled: isSettled,
    })
  })

  it('says who waits for what, and what went wrong', () => {
    expect(statusOf(syncing, waiting, failed).message).toBe(
      'vm c: the server answers 404; vm b: Secret farm/login does not exist; 0/3 images are ready; Syncing: a (Syncing); Queued: b (SecretMissing); Failed: c (NotFound)',
    )
    const refused = { phase: 'Snapshotting', reason: 'Refused', message: 'VolumeSnapshot is forbidden' } as const
    expect(statusOf(ready, ready, refused).message).toBe(
      'vm c: VolumeSnapshot is forbidden; 2/3 images are ready; Syncing: c (Refused)',
    )
    expect(statusOf(ready, ready, ready).message).toBe('3/3 images are ready')
  })

  it('names the image of each vm', () => {
    expect(statusOf(syncing, waiting, failed).images).toEqual([
      { vm: 'a', name: '035-a', phase: 'Syncing', reason: 'Syncing' },
      { vm: 'b', name: '035-b', phase: 'Queued', reason: 'SecretMissing' },
      { vm: 'c', name: '035-c', phase: 'Failed', reason: 'NotFound', message: 'the server answers 404' },
    ])
  })

  it.each<[string, (images: Images, name: string) => void]>([
    ['an earlier spec', (images, name) => images.change(name, { generation: 2 })],
    [
      'an earlier request',
      (images, name) =>
        images.annotate(name, images.stored.get(name)?.metadata ?? {}, { 'pelotech.ot/sync-requested-at': '1' }),
    ],
  ])('does not go by what an image says of %s', (_what, act) => {
    const images = new Images()
    for (const image of planDataSync(aDataSyncWorld(lab), NOW).apply) {
      images.put(image)
      images.tell(image.metadata.name, ready)
    }
    expect(planDataSync(aDataSyncWorld(lab, images), NOW).status.phase).toBe('Succeeded')
    act(images, '035-b')
    const { phase, images: shown } = planDataSync(aDataSyncWorld(lab, images), NOW).status
    expect(phase).toBe('Queued')
    expect(shown?.[1]).toMatchObject({ phase: 'Queued', reason: 'ImageChanged' })
  })

  it('has the time of a transition move with the condition alone', () => {
    const before = statusOf(waiting, ready, ready)
    const view = { ...lab, status: before }
    const { status } = planDataSync(aDataSyncWorld(view), NOW + 1_000)
    expect(status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      before.conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
    )
  })
})

it('tells its beginning, its end and trouble in Events, and not the steps between them', () => {
  const reasons = ['Queued', 'Syncing', 'Queued', 'Syncing', 'ImageFailed', 'Syncing', 'Synced', 'Synced']
  const told = reasons.flatMap((reason, at) => {
    const before = reasons[at - 1]
    return dataSyncEventsBetween(before === undefined ? {} : { reason: before }, { reason })
  })
  expect(told.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    'Normal Queued',
    'Warning ImageFailed',
    'Normal Syncing',
    'Normal Synced',
  ])
})
