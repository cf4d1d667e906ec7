import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { CDI } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import { aLookup, NO_REFERENCES, ONE_USER } from '../../../../test/prepared/vm-disk-image/image-world.ts'
import type { ImageWorld } from '../world.ts'

const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

/** What an image that is Succeeded says that there is. Here it is broken, and the image has to say so. */
const BREAKS: readonly (readonly [what: string, (world: ImageWorld) => Partial<ImageWorld>, said: string])[] = [
  ['snapshot is gone', () => ({ snapshots: [] }), 'Snapshotting Ready=False UpToDate=False ArtifactLost=True'],
  [
    'snapshot is being deleted',
    ({ snapshots }) => ({ snapshots: snapshots.map((one) => ({ ...one, metadata: { ...one.metadata, ...GOING } })) }),
    'Snapshotting Ready=False UpToDate=False ArtifactLost=True',
  ],
  [
    'snapshot and its volume are gone',
    () => ({ snapshots: [], dataVolumes: [], claims: [] }),
    'Queued Ready=False UpToDate=False ArtifactLost=True',
  ],
]

/** The same for an image whose artifact is the downloaded volume itself. */
const BREAKS_OF_CLAIMS: typeof BREAKS = [
  ['claim is gone', () => ({ claims: [] }), 'Snapshotting Ready=False UpToDate=False ArtifactLost=True'],
  [
    'claim is being deleted',
    ({ claims }) => ({ claims: claims.map((one) => ({ ...one, metadata: { ...one.metadata, ...GOING } })) }),
    'Snapshotting Ready=False UpToDate=False ArtifactLost=True',
  ],
  [
    'claim has lost its volume',
    ({ claims }) => ({ claims: claims.map((one) => ({ ...one, phase: 'Lost' })) }),
    'Snapshotting Ready=False UpToDate=False ArtifactLost=True',
  ],
  [
    'claim and its DataVolume are gone',
    () => ({ dataVolumes: [], claims: [] }),
    'Queued Ready=False UpToDate=False ArtifactLost=True',
  ],
]

const SUCCEEDED = 'Succeeded Ready=True UpToDate=True ArtifactLost=undefined'

function said(walk: ImageWalk): string {
  const { phase, conditions = [] } = walk.plan().status
  const of = (type: string) => `${type}=${conditions.find((one) => one.type === type)?.status}`
  return [phase, of('Ready'), of('UpToDate'), of('ArtifactLost')].join(' ')
}

it.each(BREAKS)('an image whose %s says so', (_what, change, expected) => {
  const walk = new ImageWalk().publish()
  expect(said(walk)).toBe(SUCCEEDED)
  walk.set(change(walk.world))
  expect(said(walk)).toBe(expected)
})

it.each(BREAKS_OF_CLAIMS)('an image without snapshots whose %s says so', (_what, change, expected) => {
  const walk = new ImageWalk({ spec: { snapshotClass: undefined } }).publish()
  expect([said(walk), walk.status.artifact?.kind]).toEqual([SUCCEEDED, 'PersistentVolumeClaim'])
  walk.set(change(walk.world))
  expect(said(walk)).toBe(expected)
})

it.each(BREAKS)('an image that is Failed, with an earlier artifact, whose %s says so', (_what, change) => {
  const walk = new ImageWalk().publish().edit({ url: 'https://images.example/b' }).settle().fail(CDI.notFound)
  expect(said(walk)).toBe('Failed Ready=True UpToDate=False ArtifactLost=undefined')
  walk.set(change(walk.world))
  expect(said(walk)).toBe('Failed Ready=False UpToDate=False ArtifactLost=True')
})

it.each<[string, (walk: ImageWalk) => ImageWalk, string]>([
  [
    'lacks its Secret',
    (walk) => walk.set({ lookup: aLookup({ secret: 'missing' }) }),
    'Queued SecretMissing undefined',
  ],
  ['is suspended', (walk) => walk.edit({ suspend: true }), 'Queued Suspended undefined'],
  ['has its download', (walk) => walk.admit().report(CDI.running), 'Syncing Syncing undefined'],
])('an image with a place in the queue that %s has none', (_what, act, expected) => {
  const walk = new ImageWalk().settle().set({ queuePosition: 3 })
  const stand = ({ phase, reason, queuePosition }: VMDiskImageStatus) => `${phase} ${reason} ${queuePosition}`
  expect(stand(walk.plan().status)).toBe('Queued Queued 3')
  act(walk)
  expect(stand(walk.plan().status)).toBe(expected)
})

it('an image that is Unreferenced says at once that somebody refers to it', () => {
  const walk = new ImageWalk({ references: NO_REFERENCES }).publish()
  expect(walk.condition('Unreferenced')).toBe('True')
  walk.set({ references: ONE_USER }).settle()
  expect([walk.condition('Unreferenced'), walk.status.unreferencedSince]).toEqual(['False', undefined])
})

it('the DataSource of an image is made again without a word: who clones by it waits for it', () => {
  const walk = new ImageWalk().publish().set({ dataSource: undefined })
  expect(walk.plan().apply.map(({ kind }) => kind)).toEqual(['DataSource'])
})
