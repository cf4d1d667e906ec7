import { LABELS } from '@open-terrain/constructs'
import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { aClaim, anImage, aPod, aSnapshot, SPEC } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../test/prepared/vm-disk-image/image-walk.ts'
import { clusterCaches } from '../../cluster/caches.ts'
import { POD_PHASE } from '../../cluster/views.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { ImageCaches } from './caches.ts'
import { listenForImageTriggers } from './triggers.ts'

const OWNER = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'target', uid: 'target', controller: true }

let caches: ImageCaches
let wakes = 0
/** Uids of what the admission was told of. */
let heard: (string | undefined)[]
let enqueued: string[]
beforeEach(() => {
  caches = new ImageCaches(
    clusterCaches(
      new Reflectors({
        client: new ScriptedClient(),
        clock: new FakeClock(),
        random: () => 0.5,
        log: fakeLog(),
        onRelist: () => undefined,
      }),
    ),
  )
  wakes = 0
  listen()
})

function listen(): void {
  enqueued = []
  heard = []
  listenForImageTriggers(caches, {
    queue: { add: (key) => enqueued.push(key) },
    admission: {
      checkLedger: () => undefined,
      downloadsChanged: (changed) => void heard.push(changed?.metadata.uid),
      wake: () => (wakes += 1),
    },
    ledger: 'sync-operator/ledger',
    onGone: () => undefined,
  })
}

/** Returns an image with an artifact, and the name of its next snapshot, for something else to take. */
function conflicting(spec: Readonly<Record<string, unknown>>): { name: string; walk: ImageWalk } {
  const walk = new ImageWalk().publish().edit(spec)
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
    enqueued.length = 0
    const theirs = aSnapshot({ name, namespace: 'team', uid: 'theirs', resourceVersion: '900' })
    caches.cluster.snapshots.put(theirs)
    expect(enqueued.splice(0)).toEqual(['team/img'])
    caches.cluster.snapshots.remove({ ...theirs, metadata: { ...theirs.metadata, resourceVersion: '901' } })
    expect(enqueued).toEqual(['team/img'])
  })
})

describe('the admission', () => {
  it('is woken when the end of a download is written down: one without a slot has counted until then', () => {
    const running = anImage({ resourceVersion: '10' }, { status: { dataVolumeUID: 'dv' } })
    caches.images.put(running)
    caches.images.put({ ...running, metadata: { ...running.metadata, resourceVersion: '11' } })
    expect(wakes).toBe(0)
    const attempts = [{ number: 1, revision: '0', dataVolumeUID: 'dv', outcome: 'Failed' }] as never
    const metadata = { ...running.metadata, resourceVersion: '12' }
    caches.images.put({ ...running, metadata, status: { ...running.status, attempts } })
    expect(wakes).toBe(1)
  })
})

describe('a change of a child', () => {
  it('that no decision rests on is no reason to look at its image', () => {
    const image = anImage({ name: 'img', uid: 'uid-img' }, { spec: SPEC })
    const snapshot = aSnapshot({ name: 'img-1', namespace: 'team', uid: 'one', resourceVersion: '900' })
    const labelled = { ...snapshot, metadata: { ...snapshot.metadata, labels: { [LABELS.imageUid]: 'uid-img' } } }
    const at = (resourceVersion: string) => ({ ...labelled, metadata: { ...labelled.metadata, resourceVersion } })
    caches.images.put(image)
    enqueued.length = 0
    caches.cluster.snapshots.put(at('901'))
    expect(enqueued.splice(0)).toEqual(['team/img'])
    caches.cluster.snapshots.put(at('902'))
    expect(enqueued).toEqual([])
    caches.cluster.snapshots.put({ ...at('903'), readyToUse: !snapshot.readyToUse })
    expect(new Set(enqueued)).toEqual(new Set(['team/img']))
  })
})

describe('a prime claim', () => {
  it('is a reason to look at the image of its target when an import depends on what changed, and no other time', () => {
    caches.images.put(anImage({}, { status: { revision: '0' } }))
    const target = { ...OWNER, name: 'img-0', uid: 'uid of img-0' }
    const meta = { name: 'prime-1', namespace: 'team', uid: 'prime', ownerReferences: [target] }
    const put = (resourceVersion: string, phase: string, annotations?: Readonly<Record<string, string>>) =>
      caches.cluster.claims.put(aClaim({ ...meta, resourceVersion, ...(annotations && { annotations }) }, { phase }))
    enqueued.length = 0
    put('900', 'Pending')
    expect(enqueued.splice(0)).toEqual(['team/img'])
    put('901', 'Bound')
    expect(enqueued).toEqual([])
    put('902', 'Bound', { [POD_PHASE]: 'Succeeded' })
    expect(new Set(enqueued.splice(0))).toEqual(new Set(['team/img']))
    caches.cluster.claims.remove(aClaim({ ...meta, resourceVersion: '903' }))
    expect(enqueued).toEqual(['team/img'])
  })
})

describe('the admission is told of a change', () => {
  const metadata = { name: 'data', namespace: 'team', uid: 'data' }
  it.each<[string, object, object, boolean]>([
    ['of the capacity of a claim', {}, { capacity: '1Gi' }, false],
    ['of the phase of a claim', {}, { phase: 'Bound' }, false],
    ['when a claim is filled', {}, { annotations: { [POD_PHASE]: 'Succeeded' } }, true],
    ['when a claim is deleted', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }, true],
    ['when a claim gets its owner', {}, { ownerReferences: [OWNER] }, true],
    ['when a claim loses its owner', { ownerReferences: [OWNER] }, {}, true],
  ])('%s: %#', (_what, before, after, isTold) => {
    const put = (resourceVersion: string, { capacity, phase, ...more }: Partial<ReturnType<typeof aClaim>> & object) =>
      caches.cluster.claims.put(
        aClaim({ ...metadata, ...more, resourceVersion }, { phase: phase ?? 'Pending', ...(capacity && { capacity }) }),
      )
    put('901', before)
    expect(heard.splice(0)).toEqual(['data'])
    put('902', after)
    expect(heard).toEqual(isTold ? ['data'] : [])
  })

  it('when a pod ends, and not while it begins', () => {
    const at = (resourceVersion: string, phase: string) => {
      const pod = aPod('pod', { phase })
      caches.cluster.pods.put({ ...pod, metadata: { ...pod.metadata, resourceVersion } })
    }
    at('901', 'Pending')
    expect(heard.splice(0)).toEqual(['pod'])
    at('902', 'Running')
    expect(heard).toEqual([])
    at('903', 'Failed')
    expect(heard).toEqual(['pod'])
  })
})

it('a change of a Secret, whatever it is, is a reason to look at the images that wait for it or use it', () => {
  for (const phase of ['Succeeded', 'Queued'] as const)
    caches.images.put(anImage({ name: phase, uid: phase }, { spec: SPEC, status: { phase } }))
  const secret = (resourceVersion: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'team', name: 'creds', resourceVersion },
  })
  enqueued.length = 0
  for (const version of ['900', '901']) {
    caches.cluster.secrets.put(secret(version))
    expect(enqueued.splice(0)).toEqual(['team/Queued'])
  }
})

it('an image that is finished is looked at when DataSources are served again, and not for other kinds', () => {
  let isInstalled = true
  const announce: (() => void)[] = []
  const onInstalled = (listener: () => void) => announce.push(listener)
  Object.assign(caches.reflectors, { isInstalled: () => isInstalled, onInstalled })
  for (const phase of ['Succeeded', 'Queued'] as const)
    caches.images.put(anImage({ name: phase }, { status: { phase } }))
  listen()
  const enqueuedBy = (now: boolean) => {
    isInstalled = now
    for (const one of announce) one()
    return enqueued.splice(0)
  }
  expect([true, false, true, true].map(enqueuedBy)).toEqual([
    ['team/Queued'],
    ['team/Queued'],
    ['team/Succeeded', 'team/Queued'],
    ['team/Queued'],
  ])
})
