import { LABELS, MANAGER, type VMDiskImageStatus } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { ObjectMeta, OwnerReference } from '../../kube/kube-object.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { AdmissionBench } from './admission.fixtures.ts'
import { Caches } from './caches.ts'
import { observeImage } from './observe.ts'
import { ProgressWatch } from './progress-watch.ts'
import { aClaim, aDataVolume, anImage, aPod, aPolicy, CDI, childMeta, IMAGE_UID } from './world.fixtures.ts'

const NAME = 'img-0'

function build() {
  const { admission, client, clock, log } = new AdmissionBench()
  const caches = new Caches(new Reflectors({ client, clock, log, random: () => 0, onRelist: () => undefined }))
  const look = (status: VMDiskImageStatus = {}) =>
    observeImage(anImage({}, { status }), {
      caches,
      admission,
      policy: () => aPolicy(),
      progress: new ProgressWatch(clock),
      references: [],
      sinceStatusWriteMs: () => undefined,
    })
  return { caches, look }
}

const ownedBy = (uid: string): OwnerReference[] => [
  { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', name: NAME, uid, controller: true },
]
const claimOf = (uid: string, more: Partial<ObjectMeta> = {}) =>
  aClaim(childMeta(NAME, '0', { ownerReferences: ownedBy(uid), ...more }))

describe('a claim of our DataVolume', () => {
  it.each<[string, Record<string, string>]>([
    ['with our label', { [LABELS.imageUid]: IMAGE_UID }],
    ['whose label somebody took off', {}],
    ['whose label somebody changed', { [LABELS.imageUid]: 'nobody' }],
  ])('%s is known, once', (_name, labels) => {
    const { caches, look } = build()
    const metadata = childMeta(NAME, '0', { uid: 'dv-1' })
    caches.dataVolumes.put(aDataVolume({ ...CDI.succeeded, metadata }))
    caches.claims.put(claimOf('dv-1', { labels }))
    const world = look()
    expect(world.claims.map((claim) => claim.metadata.name)).toEqual([NAME])
    expect(world.lookup.leftoverClaim(NAME)).toBe('none')
    expect(world.lookup.foreignVolume(NAME)).toBeUndefined()
  })
})

describe('a claim of ours that outlived its DataVolume', () => {
  it.each<[string, Partial<ObjectMeta>, string]>([
    ['is going, marked as deleted', { deletionTimestamp: '2026-01-01T00:00:00Z', ownerReferences: [] }, 'going'],
    ['is going, since its owner is gone', {}, 'going'],
    ['is orphaned, without an owner', { ownerReferences: [] }, 'orphaned'],
  ])('%s', (_name, more, expected) => {
    const { caches, look } = build()
    caches.claims.put(claimOf('dv-0', more))
    expect(look().lookup.leftoverClaim(NAME)).toBe(expected)
  })
})

describe('a claim whose DataVolume is gone', () => {
  it.each<[string, Record<string, string>, boolean]>([
    ['ours, of an earlier life of the image', { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: 'earlier' }, true],
    ['ours', { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: IMAGE_UID }, true],
    ['a stranger’s', { app: 'x' }, false],
  ])('is %s: waited for, or told as a conflict of names', (_name, labels, isLeftover) => {
    const { caches, look } = build()
    caches.claims.put(claimOf('dv-0', { labels, deletionTimestamp: '2026-01-01T00:00:00Z' }))
    const { lookup } = look()
    expect(lookup.leftoverClaim(NAME)).toBe(isLeftover ? 'going' : 'none')
    expect(lookup.foreignVolume(NAME)).toBe(isLeftover ? undefined : `PersistentVolumeClaim ${NAME}`)
  })
})

describe('the importer pod that the status names', () => {
  it.each([
    ['counts for the DataVolume that it belongs to', 'dv-1', true],
    ['does not count for another one', 'dv-0', false],
  ])('%s', (_name, dataVolumeUID, isImporterReplaced) => {
    const { caches, look } = build()
    caches.dataVolumes.put(aDataVolume({ ...CDI.running, metadata: childMeta(NAME, '0', { uid: 'dv-1' }) }))
    const pod = aPod('second')
    caches.pods.put({ ...pod, metadata: { ...pod.metadata, resourceVersion: '300' } })
    const { observation } = look({ dataVolumeUID, importerPodUID: 'first' })
    expect(observation.isImporterReplaced).toBe(isImporterReplaced)
  })
})
