import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { aDataSyncWorld, dataSyncOf, Images, NOW } from '../../../../test/prepared/data-sync/data-sync-world.ts'
import { planDataSync } from './plan.ts'

const dataSync = dataSyncOf()
const NAME = '035-router'
const READY: VMDiskImageStatus = { phase: 'Succeeded', reason: 'Synced' }
const LOST: VMDiskImageStatus = { phase: 'Queued', reason: 'Queued' }
const SNAPSHOT_LOST: VMDiskImageStatus = { phase: 'Snapshotting', reason: 'Snapshotting' }
const GIVEN_UP: VMDiskImageStatus = { phase: 'Failed', reason: 'NotFound', message: 'the server answers 404' }

/** A DataSync that is Succeeded says that each of its images is ready and as it wants it. What may happen to one of them, and what it then says. */
const BREAKS: readonly (readonly [what: string, (images: Images) => unknown, said: string])[] = [
  [
    'is gone',
    (images) => images.stored.delete(NAME),
    'Queued Queued Ready=False Settled=False 1/2 Queued ImageMissing',
  ],
  [
    'is being deleted',
    (images) => images.change(NAME, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    'Queued Queued Ready=False Settled=False 1/2 Queued ImageTerminating',
  ],
  [
    'is kept from being deleted by its users',
    keptFromDeletion,
    'Failed ImageFailed Ready=False Settled=True 1/2 Failed ImageTerminating',
  ],
  [
    'has lost its artifact',
    (images) => images.tell(NAME, LOST),
    'Queued Queued Ready=False Settled=False 1/2 Queued Queued',
  ],
  [
    'has lost its snapshot',
    (images) => images.tell(NAME, SNAPSHOT_LOST),
    'Syncing Syncing Ready=False Settled=False 1/2 Syncing Snapshotting',
  ],
  [
    'has failed',
    (images) => images.tell(NAME, GIVEN_UP),
    'Failed ImageFailed Ready=False Settled=True 1/2 Failed NotFound',
  ],
  [
    'says nothing',
    (images) => images.tell(NAME, {}),
    'Queued Queued Ready=False Settled=False 1/2 Queued ImageChanged',
  ],
  [
    'was changed by somebody',
    (images) => changeUrl(images),
    'Queued Queued Ready=False Settled=False 1/2 Queued ImageChanged',
  ],
  [
    'was changed, and is ready as it is',
    (images) => changeUrl(images, READY),
    'Queued Queued Ready=False Settled=False 1/2 Queued ImageChanged',
  ],
]

function keptFromDeletion(images: Images): void {
  const blocked = { type: 'DeletionBlocked', status: 'True', reason: 'InUse', message: 'in use' } as const
  images.tell(NAME, { ...READY, conditions: [blocked] })
  images.change(NAME, { deletionTimestamp: '2026-01-01T00:00:00Z' })
}

function changeUrl(images: Images, told?: VMDiskImageStatus): void {
  const image = images.stored.get(NAME)
  if (image === undefined) throw new Error(`there is no ${NAME}`)
  images.update({ ...image, spec: { ...(image.spec as object), url: 'https://images.example/other' } })
  if (told !== undefined) images.tell(NAME, told)
}

function said(images: Images): string {
  const {
    phase,
    reason,
    ready,
    conditions = [],
    images: shown,
  } = planDataSync(aDataSyncWorld(dataSync, images), NOW).status
  const of = (type: string) => `${type}=${conditions.find((one) => one.type === type)?.status}`
  const router = shown?.find(({ name }) => name === NAME)
  return [phase, reason, of('Ready'), of('Settled'), ready, router?.phase, router?.reason].join(' ')
}

it.each(BREAKS)('a DataSync with an image that %s says so', (_what, act, expected) => {
  const images = new Images()
  for (const image of planDataSync(aDataSyncWorld(dataSync), NOW).apply) {
    images.put(image)
    images.tell(image.metadata.name, READY)
  }
  expect(said(images)).toBe('Succeeded Synced Ready=True Settled=True 2/2 Succeeded Synced')
  act(images)
  expect(said(images)).toBe(expected)
})
