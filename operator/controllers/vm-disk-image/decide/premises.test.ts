import { expect, it } from 'vitest'
import { Walk } from '../image-walk.fixtures.ts'
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

function said(walk: Walk): string {
  const { phase, conditions = [] } = walk.plan().status
  const of = (type: string) => `${type}=${conditions.find((one) => one.type === type)?.status}`
  return [phase, of('Ready'), of('UpToDate'), of('ArtifactLost')].join(' ')
}

it.each(BREAKS)('an image whose %s says so', (_what, change, expected) => {
  const walk = new Walk().publish()
  expect(said(walk)).toBe('Succeeded Ready=True UpToDate=True ArtifactLost=undefined')
  walk.set(change(walk.world))
  expect(said(walk)).toBe(expected)
})

it('the DataSource of an image is made again without a word: who clones by it waits for it', () => {
  const walk = new Walk().publish().set({ dataSource: undefined })
  expect(walk.plan().apply.map(({ kind }) => kind)).toEqual(['DataSource'])
})
