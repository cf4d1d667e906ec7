import { LABELS } from '@open-terrain/constructs'
import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClient } from '../../kube/fake-client.fixtures.ts'
import { FakeClock } from '../../kube/fake-clock.fixtures.ts'
import { fakeLog } from '../../runtime/fake-log.fixtures.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { Caches } from './caches.ts'
import { listenForTriggers } from './triggers.ts'
import { anImage, aSnapshot, SPEC, Walk } from './world.fixtures.ts'

let caches: Caches
let enqueued: string[]
beforeEach(() => {
  caches = new Caches(
    new Reflectors({
      client: new FakeClient(),
      clock: new FakeClock(),
      random: () => 0.5,
      log: fakeLog(),
      onRelist: () => undefined,
    }),
  )
  enqueued = []
  listenForTriggers(caches, {
    image: () => undefined,
    enqueue: ({ metadata }) => enqueued.push(metadata.name),
    downloads: () => undefined,
    configMap: () => undefined,
  })
})

/** An image with an artifact, whose snapshot by another class has the name of something else. */
function conflicting(spec: Readonly<Record<string, unknown>>): { name: string; walk: Walk } {
  const walk = new Walk().publish().edit(spec)
  const wanted = walk.plan().apply.find(({ kind }) => kind === 'VolumeSnapshot')
  if (wanted === undefined) throw new Error(walk.stand)
  return { walk, name: wanted.metadata.name }
}

describe('an image that waits for the name of its second snapshot', () => {
  it('is looked at when a foreign snapshot takes the name, and when it frees it', () => {
    const { name, walk } = conflicting({ snapshotClass: 'other' })
    expect(name).not.toBe(walk.status.artifact?.name)
    caches.images.put(anImage({ name: 'bystander', uid: 'bystander' }, { spec: SPEC, status: walk.status }))
    caches.images.put(walk.world.image)
    const theirs = aSnapshot({ name, namespace: 'team', uid: 'theirs', resourceVersion: '900' })
    caches.snapshots.put(theirs)
    expect(enqueued.splice(0)).toEqual(['img'])
    caches.snapshots.remove({ ...theirs, metadata: { ...theirs.metadata, resourceVersion: '901' } })
    expect(enqueued).toEqual(['img'])
  })
})

describe('a change of a child', () => {
  it('that no decision rests on is no reason to look at its image', () => {
    const image = anImage({ name: 'img', uid: 'uid-img' }, { spec: SPEC })
    const snapshot = aSnapshot({ name: 'img-1', namespace: 'team', uid: 'one', resourceVersion: '900' })
    const labelled = { ...snapshot, metadata: { ...snapshot.metadata, labels: { [LABELS.imageUid]: 'uid-img' } } }
    const at = (resourceVersion: string) => ({ ...labelled, metadata: { ...labelled.metadata, resourceVersion } })
    caches.images.put(image)
    caches.snapshots.put(at('901'))
    expect(enqueued.splice(0)).toEqual(['img'])
    caches.snapshots.put(at('902'))
    expect(enqueued).toEqual([])
    caches.snapshots.put({ ...at('903'), readyToUse: !snapshot.readyToUse })
    expect(new Set(enqueued)).toEqual(new Set(['img']))
  })
})
