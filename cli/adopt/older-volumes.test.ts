import { describe, expect, it } from 'vitest'
import { viewAdopted } from '../../operator/controllers/vm-disk-image/adoption-facts.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { type FoundVolume, planAdoption, shownManifest } from './plan-adoption.ts'

const URL = 'https://s3.eu-west-1.amazonaws.com/bucket/kali.qcow2'
const OLDER = { apiVersion: 'crd.pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'kali', uid: 'older' }

const object = (apiVersion: string, kind: string, metadata: object, more: object) =>
  ({ apiVersion, kind, metadata: { namespace: 'farm', name: 'kali', uid: kind, ...metadata }, ...more }) as KubeObject

const older = object(
  OLDER.apiVersion,
  'VMDiskImage',
  { uid: 'older' },
  {
    spec: {
      url: URL,
      sourceType: 's3',
      diskSize: '24Gi',
      storageClass: 'gp3',
      secretRef: 'creds',
      snapshotClass: 'ebs',
    },
  },
)

function found(metadata: object, more: Partial<FoundVolume> = {}, source: object = { s3: { url: URL } }): FoundVolume {
  const storage = { resources: { requests: { storage: '24Gi' } }, storageClassName: 'gp3' }
  const dataVolume = object('cdi.kubevirt.io/v1beta1', 'DataVolume', metadata, {
    spec: { source, pvc: storage },
    status: { phase: 'Succeeded' },
  })
  const labels = 'labels' in metadata ? { labels: metadata.labels } : {}
  const claim = object('v1', 'PersistentVolumeClaim', labels, { spec: storage, status: { phase: 'Bound' } })
  const facts = {
    fault: undefined,
    checkedSince: 0,
    rule: 'rule',
    object: viewAdopted(dataVolume, 'DataVolume'),
    claim: viewAdopted(claim, 'PersistentVolumeClaim'),
    usedBy: undefined,
  }
  return { namespace: 'farm', name: 'kali', dataVolume, claim, image: undefined, facts, ...more }
}

const OWNED = { labels: { owner: 'kali' }, ownerReferences: [{ ...OLDER, controller: true }] }
const steps = (given: FoundVolume) => planAdoption(given).steps.map(({ what }) => what)

describe('what is to be done for disks of the older operator, and of people', () => {
  it('releases what the older operator has, and then creates the image that its object describes', () => {
    const planned = planAdoption(found(OWNED, { older }))
    expect(planned).toMatchObject({
      state: 'ready',
      reason: 'SourceMatches',
      owner: 'VMDiskImage kali of crd.pelotech.ot',
      bytes: 24 * 2 ** 30,
      manifest: {
        metadata: { annotations: { 'pelotech.ot/adopt': 'datavolume/kali' } },
        spec: { url: URL, sourceType: 's3', secretRef: 'creds', snapshotClass: 'ebs' },
      },
    })
    expect(planned.steps.map(({ what }) => what)).toEqual(['unlabel', 'release', 'create'])
  })

  it('goes on after a break at any step', () => {
    const unlabelled = found(OWNED, { older })
    const claim = { ...(unlabelled.claim as KubeObject), metadata: { namespace: 'farm', name: 'kali' } }
    expect(steps({ ...unlabelled, claim })).toEqual(['release', 'create'])
    expect(steps(found({}, { older }))).toEqual(['create'])
    const adopted = { spec: { url: URL, sourceType: 's3' }, status: { adoption: { uid: 'PersistentVolumeClaim' } } }
    const annotations = { 'pelotech.ot/adopt': 'dv/kali' }
    const image = object('pelotech.ot/v1alpha1', 'VMDiskImage', { annotations }, adopted)
    expect(planAdoption(found({}, { older, image }))).toMatchObject({ state: 'adopted', steps: [] })
  })

  it('makes an image of what people have filled by hand', () => {
    const planned = planAdoption(found({}, {}, { http: { url: 'https://images.example/a', secretRef: 'login' } }))
    expect(planned).toMatchObject({ state: 'ready', madeBy: 'people' })
    expect(planned.manifest).toMatchObject({ spec: { sourceType: 'http', diskSize: '24Gi', storageClass: 'gp3' } })
  })

  it.each<[string, FoundVolume, string]>([
    [
      'another controller has it',
      found({ ownerReferences: [{ ...OLDER, kind: 'Lab', controller: true }] }),
      'AdoptionOwned',
    ],
    [
      'its older object is being deleted',
      found(OWNED, { older: { ...older, metadata: { ...older.metadata, deletionTimestamp: 'now' } } }),
      'AdoptionMissing',
    ],
    ['it was filled from elsewhere', found(OWNED, { older }, { s3: { url: `${URL}.old` } }), 'SourceDiffers'],
    [
      'an image has its name',
      found({}, { image: object('pelotech.ot/v1alpha1', 'VMDiskImage', {}, {}) }),
      'NameConflict',
    ],
    ['no image could have its source', found({}, {}, { upload: {} }), 'InvalidSpec'],
  ])('refuses it if %s', (_why, given, reason) => {
    expect(planAdoption(given)).toMatchObject({ state: 'refused', reason, steps: [] })
  })

  it('shows nothing that a presigned URL proves', () => {
    const { manifest } = planAdoption(
      found({}, {}, { http: { url: 'https://images.example/a?X-Amz-Signature=secret' } }),
    )
    expect(JSON.stringify(shownManifest(manifest))).not.toContain('secret')
  })
})
