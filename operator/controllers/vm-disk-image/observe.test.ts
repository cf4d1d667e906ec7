import { LABELS } from '@open-terrain/constructs'
import {
  childName,
  MANAGER,
  revisionOf,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { AdmissionBench } from '../../../test/prepared/vm-disk-image/admission.ts'
import {
  aClaim,
  aDataVolume,
  anImage,
  aPod,
  aSnapshot,
  CDI,
  childMeta,
  IMAGE_UID,
  ownedBy,
  SPEC,
} from '../../../test/prepared/vm-disk-image/image-objects.ts'
import { aPolicy, FULL_QUOTA } from '../../../test/prepared/vm-disk-image/image-world.ts'
import { clusterCaches } from '../../cluster/caches.ts'
import { POD_PHASE } from '../../cluster/views.ts'
import type { ObjectMeta, OwnerReference } from '../../kube/kube-object.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { ImageCaches } from './caches.ts'
import { observeImage } from './observe.ts'
import { ProgressWatch } from './progress-watch.ts'

/** Of the volume and the snapshot of the image. */
const NAME = childName('img', revisionOf(SPEC as unknown as VMDiskImageSpec))

function build() {
  const { admission, client, clock, log } = new AdmissionBench()
  const caches = new ImageCaches(
    clusterCaches(new Reflectors({ client, clock, log, random: () => 0, onRelist: () => undefined })),
  )
  const look = (status: VMDiskImageStatus = {}, spec: object = {}) =>
    observeImage(anImage({}, { status, spec: { ...SPEC, ...spec } }), {
      caches,
      admission,
      policy: () => aPolicy(),
      progress: new ProgressWatch(clock, { workedUntil: () => clock.monotonic(), isSilent: false }),
      fields: { dropped: undefined },
      contents: {
        secret: (key) => (caches.cluster.secrets.get(key) === undefined ? 'missing' : 'pending'),
        certificates: (key) => (caches.cluster.configMaps.get(key) === undefined ? 'missing' : 'unnamed'),
      },
      claimRefusals: { note: () => ({ text: undefined, isRead: false }), drop: () => undefined },
      references: [],
    })
  return { caches, look }
}

const ownedByDataVolume = (uid: string): OwnerReference[] => [
  { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', name: NAME, uid, controller: true },
]
const claimOf = (uid: string, more: Partial<ObjectMeta> = {}) =>
  aClaim(childMeta(NAME, '0', { ownerReferences: ownedByDataVolume(uid), ...more }))

describe('a claim of our DataVolume', () => {
  it.each<[string, Record<string, string>]>([
    ['with our label', { [LABELS.imageUid]: IMAGE_UID }],
    ['whose label somebody took off', {}],
    ['whose label somebody changed', { [LABELS.imageUid]: 'nobody' }],
  ])('%s is known, once', (_name, labels) => {
    const { caches, look } = build()
    const metadata = childMeta(NAME, '0', { uid: 'dv-1' })
    caches.cluster.dataVolumes.put(aDataVolume({ ...CDI.succeeded, metadata }))
    caches.cluster.claims.put(claimOf('dv-1', { labels }))
    const world = look()
    expect(world.claims.map((claim) => claim.metadata.name)).toEqual([NAME])
    expect(world.lookup.leftoverClaim).toBe('none')
    expect(world.lookup.foreignVolume).toBeUndefined()
  })
})

describe('a claim of ours that outlived its DataVolume', () => {
  it.each<[string, Partial<ObjectMeta>, string]>([
    ['is going, marked as deleted', { deletionTimestamp: '2026-01-01T00:00:00Z', ownerReferences: [] }, 'going'],
    ['is going, since its owner is gone', {}, 'going'],
    ['is orphaned, without an owner', { ownerReferences: [] }, 'orphaned'],
  ])('%s', (_name, more, expected) => {
    const { caches, look } = build()
    caches.cluster.claims.put(claimOf('dv-0', more))
    expect(look().lookup.leftoverClaim).toBe(expected)
  })
})

describe('a claim whose DataVolume is gone', () => {
  it.each<[string, Record<string, string>, boolean]>([
    ['ours, of an earlier life of the image', { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: 'earlier' }, true],
    ['ours', { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: IMAGE_UID }, true],
    ['a stranger’s', { app: 'x' }, false],
  ])('is %s: waited for, or told as a conflict of names', (_name, labels, isLeftover) => {
    const { caches, look } = build()
    caches.cluster.claims.put(claimOf('dv-0', { labels, deletionTimestamp: '2026-01-01T00:00:00Z' }))
    const { lookup } = look()
    expect(lookup.leftoverClaim).toBe(isLeftover ? 'going' : 'none')
    expect(lookup.foreignVolume).toBe(isLeftover ? undefined : `PersistentVolumeClaim ${NAME}`)
  })
})

/** The claims of a DataVolume, and the pod that fills them. */
function importing(caches: ImageCaches, dataVolumeUid: string, podUid: string, forged: Partial<ObjectMeta> = {}): void {
  caches.cluster.claims.put(claimOf(dataVolumeUid, { uid: 'target', resourceVersion: '201' }))
  const prime = filledBy('target', NAME)
  caches.cluster.claims.put(
    aClaim({ name: 'prime-target', namespace: 'team', uid: 'prime', resourceVersion: '202', ...prime }),
  )
  const metadata = { ...aPod(podUid).metadata, resourceVersion: '300', ...filledBy('prime', 'prime-target'), ...forged }
  caches.cluster.pods.put({ ...aPod(podUid), metadata })
}
const filledBy = (uid: string, name: string) => ({
  ownerReferences: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, uid, controller: true }],
})

describe('the importer pod that the status names', () => {
  it.each([
    ['counts for the DataVolume that it belongs to', 'dv-1', true],
    ['does not count for another one', 'dv-0', false],
  ])('%s', (_name, dataVolumeUID, isImporterLost) => {
    const { caches, look } = build()
    caches.cluster.dataVolumes.put(aDataVolume({ ...CDI.running, metadata: childMeta(NAME, '0', { uid: 'dv-1' }) }))
    importing(caches, 'dv-1', 'second')
    const { observation } = look({ dataVolumeUID, importerPodUID: 'first' })
    expect(observation).toMatchObject({ isImporterLost, starts: isImporterLost ? 2 : 1 })
  })
})

describe('an importer that never started, in the place of one whose end was not observed', () => {
  it.each([
    ['has replaced it', {}, true],
    ['is none where its claim is filled: CDI ends it before it starts', { [POD_PHASE]: 'Succeeded' }, false],
  ])('%s', (_name, annotations, isImporterLost) => {
    const { caches, look } = build()
    caches.cluster.dataVolumes.put(aDataVolume({ ...CDI.running, metadata: childMeta(NAME, '0', { uid: 'dv-1' }) }))
    importing(caches, 'dv-1', 'second')
    const { claims, pods } = caches.cluster
    const [prime, pod] = [claims.get('team/prime-target'), pods.get('team/importer-prime')]
    if (prime === undefined || pod === undefined) throw new Error('nothing imports')
    claims.put({ ...prime, metadata: { ...prime.metadata, resourceVersion: '203', annotations } })
    const importer = { starts: 0, isRunning: false, ended: undefined }
    pods.put({ ...pod, metadata: { ...pod.metadata, resourceVersion: '301' }, phase: 'Pending', importer })
    const { observation } = look({ dataVolumeUID: 'dv-1', importerPodUID: 'first' })
    expect(observation).toMatchObject({ isImporterLost, importers: { length: isImporterLost ? 1 : 0 } })
  })
})

describe('a pod that somebody made, with all labels of an importer', () => {
  it.each<[string, Partial<ObjectMeta>]>([
    ['is nobody’s', { ownerReferences: [] }],
    ['is in another namespace', { namespace: 'tenant' }],
    ['names a claim of an earlier life', filledBy('earlier', 'prime-target')],
    ['names another claim', filledBy('prime', 'data')],
    ['names the image', { ownerReferences: [ownedBy(anImage())] }],
    ['names the DataVolume', { ownerReferences: ownedByDataVolume('dv-1') }],
  ])('is no importer where it %s', (_name, forged) => {
    const { caches, look } = build()
    caches.cluster.dataVolumes.put(aDataVolume({ ...CDI.running, metadata: childMeta(NAME, '0', { uid: 'dv-1' }) }))
    importing(caches, 'dv-1', 'forged', forged)
    const { observation } = look({ dataVolumeUID: 'dv-1', importerPodUID: 'first' })
    expect(observation).toMatchObject({ isImporterLost: false, importers: [] })
  })

  it('is none of a DataVolume that has lost its image', () => {
    const { caches, look } = build()
    const metadata = childMeta(NAME, '0', { uid: 'dv-1', ownerReferences: [] })
    caches.cluster.dataVolumes.put(aDataVolume({ ...CDI.running, metadata }))
    importing(caches, 'dv-1', 'pod')
    expect(look().observation.importers).toEqual([])
  })
})

describe('children in another namespace', () => {
  it('with the names, labels and owner of the image are nothing to it', () => {
    const { caches, look } = build()
    const metadata = childMeta(NAME, '0', { namespace: 'tenant' })
    caches.cluster.dataVolumes.put(aDataVolume({ ...CDI.succeeded, metadata }))
    caches.cluster.claims.put(aClaim(metadata))
    caches.cluster.snapshots.put(aSnapshot(metadata))
    const { dataVolumes, claims, snapshots } = look()
    expect([dataVolumes, claims, snapshots]).toEqual([[], [], []])
  })
})

describe('a child', () => {
  const [owner] = childMeta(NAME, '0').ownerReferences ?? []
  it.each<[string, Partial<OwnerReference>, number]>([
    ['is one by group, kind, name and uid', {}, 1],
    ['may name another version of the group', { apiVersion: 'pelotech.ot/v1' }, 1],
    ['is none of another group', { apiVersion: 'nope.example/v1alpha1' }, 0],
    ['is none of another kind', { kind: 'VirtualMachine' }, 0],
    ['is none of another name', { name: 'other' }, 0],
    ['is none of an earlier life', { uid: 'earlier' }, 0],
    ['is none of an owner that is not responsible', { controller: false }, 0],
  ])('%s', (_name, change, count) => {
    const { caches, look } = build()
    const ownerReferences = owner === undefined ? [] : [{ ...owner, ...change }]
    caches.cluster.dataVolumes.put(aDataVolume({ metadata: childMeta(NAME, '0', { ownerReferences }) }))
    caches.cluster.snapshots.put(aSnapshot(childMeta(NAME, '0', { ownerReferences })))
    const { dataVolumes, snapshots } = look()
    expect([dataVolumes.length, snapshots.length]).toEqual([count, count])
  })
})

describe('what the image names', () => {
  const named = (name: string, namespace?: string) => ({
    apiVersion: 'any/v1',
    kind: 'Any',
    metadata: { name, namespace, uid: `uid of ${name}`, resourceVersion: '5' },
  })

  it('is missing where nothing of that name is there', () => {
    const { look } = build()
    expect(look({}, { certConfigMap: 'certs' }).lookup).toMatchObject({
      secret: 'missing',
      certificates: 'missing',
      hasStorageClass: false,
      hasSnapshotClass: false,
      quotas: [],
    })
  })

  it('is found by its name, in the namespace of the image', () => {
    const { caches, look } = build()
    const { cluster } = caches
    for (const namespace of ['team', 'other']) {
      cluster.secrets.put(named('creds', namespace))
      cluster.configMaps.put(named('certs', namespace))
      cluster.quotas.put({ ...FULL_QUOTA, metadata: named(`q of ${namespace}`, namespace).metadata })
    }
    cluster.storageClasses.put({ ...named('fast'), provisioner: 'a', allowVolumeExpansion: false, waitsForPod: false })
    cluster.snapshotClasses.put({ ...named('snap'), driver: 'b' })
    const { lookup } = look({}, { certConfigMap: 'certs' })
    expect(lookup).toMatchObject({
      secret: 'pending',
      certificates: 'unnamed',
      hasStorageClass: true,
      hasSnapshotClass: true,
      driversApart: { ofVolumes: 'a', ofSnapshots: 'b' },
      quotas: [{ metadata: { name: 'q of team' } }],
    })
    const without = { secretRef: undefined, storageClass: undefined, snapshotClass: undefined }
    expect(look({}, without).lookup).toMatchObject({
      secret: undefined,
      hasStorageClass: false,
      driversApart: undefined,
    })
  })

  it('tells names that others have', () => {
    const { caches, look } = build()
    const metadata = childMeta(NAME, '0', { ownerReferences: [] })
    caches.cluster.dataVolumes.put(aDataVolume({ metadata }))
    caches.cluster.snapshots.put(aSnapshot(metadata))
    expect(look().lookup).toMatchObject({ foreignVolume: `DataVolume ${NAME}`, hasForeignSnapshot: true })
  })
})
