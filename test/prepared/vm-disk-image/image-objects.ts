import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { MANAGER } from '@open-terrain/constructs/operator'
import {
  type ClaimView,
  type DataVolumeView,
  type PodView,
  type SnapshotView,
  viewClaim,
} from '../../../operator/cluster/views.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '../../../operator/kube/kube-object.ts'
import { ownObject } from '../runtime/plan-walk.ts'

/** The annotation that asks for a refresh, and the one that asks for a retry. */
export const REFRESH = ANNOTATIONS.syncRequestedAt

export const RETRY = ANNOTATIONS.retryRequestedAt

export const SPEC: Readonly<Record<string, unknown>> = {
  storageClass: 'fast',
  snapshotClass: 'snap',
  secretRef: 'creds',
  url: 'https://images.example/a.qcow2',
  sourceType: 'http',
  diskSize: '10Gi',
}

const NOT_SAID = { status: '', reason: '', message: '' }

export const IMAGE_UID = 'image-uid'

export function anImage(metadata: Partial<ObjectMeta> = {}, more: Partial<ImageView> = {}): ImageView {
  const head = ownObject('VMDiskImage', { name: 'img', uid: IMAGE_UID, ...metadata })
  return { ...head, spec: SPEC, status: {}, ...more }
}

/** Returns an owner reference to the object as controller. */
export function ownedBy({ apiVersion, kind, metadata: { name, uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true }
}

/** Metadata of a child of the image. */
export function childMeta(name: string, revision: string, more: Partial<ObjectMeta> = {}): ObjectMeta {
  return {
    name,
    namespace: 'team',
    uid: `uid of ${name}`,
    resourceVersion: '200',
    labels: { [LABELS.imageUid]: IMAGE_UID, [LABELS.revision]: revision, [LABELS.managedBy]: MANAGER },
    ownerReferences: [
      { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'img', uid: IMAGE_UID, controller: true },
    ],
    ...more,
  }
}

export function aDataVolume(more: Partial<DataVolumeView> = {}): DataVolumeView {
  return {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: childMeta('img-0', '0'),
    phase: 'ImportInProgress',
    progress: '10.0%',
    restartCount: 0,
    bound: { status: 'False', reason: 'Pending', message: '' },
    running: { status: 'True', reason: 'Pod is running', message: '' },
    ready: { status: 'False', reason: 'TransferRunning', message: '' },
    cloneOf: undefined,
    ...more,
  }
}

export function aPod(uid: string, more: Partial<PodView> = {}): PodView {
  const metadata = { name: 'importer-prime', namespace: 'team', uid, labels: { [LABELS.imageUid]: IMAGE_UID } }
  const importer = { starts: 1, isRunning: true, ended: undefined }
  return { apiVersion: 'v1', kind: 'Pod', metadata, phase: 'Running', hasScratch: false, importer, ...more }
}

/** DataVolume states as CDI reports them. */
export const CDI = {
  new: { phase: '', progress: '', bound: NOT_SAID, running: NOT_SAID, ready: NOT_SAID },
  running: {
    phase: 'ImportInProgress',
    progress: '5.0%',
    running: { status: 'True', reason: 'Pod is running', message: '' },
  },
  failing: {
    phase: 'ImportInProgress',
    running: { status: 'False', reason: 'Error', message: 'Unable to process data: unexpected EOF' },
  },
  notFound: {
    phase: 'ImportInProgress',
    running: { status: 'False', reason: 'Error', message: 'expected status code 200, got 404. Status: 404 Not Found' },
  },
  succeeded: {
    phase: 'Succeeded',
    progress: '100.0%',
    bound: { status: 'True', reason: 'Bound', message: 'PVC Bound' },
    running: { status: 'False', reason: 'Completed', message: 'Import Complete' },
    ready: { status: 'True', reason: '', message: '' },
  },
} as const satisfies Record<string, Partial<DataVolumeView>>

export function aClaim(metadata: ObjectMeta, more: Partial<ClaimView> = {}): ClaimView {
  const spec = { volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'] }
  const status = { phase: 'Bound', capacity: { storage: '11Gi' } }
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec, status }
  return { ...viewClaim(claim as KubeObject), metadata, ...more }
}

export function aSnapshot(metadata: ObjectMeta, more: Partial<SnapshotView> = {}): SnapshotView {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata,
    spec: {},
    claimName: metadata.name,
    snapshotClass: 'snap',
    readyToUse: false,
    restoreSize: undefined,
    error: undefined,
    ...more,
  }
}
