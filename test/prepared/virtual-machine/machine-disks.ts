import { diskClaimName } from '@open-terrain/constructs/operator'
import type { CloneSource } from '../../../operator/cluster/clone-sources.ts'
import type { StorageClassView } from '../../../operator/cluster/views.ts'
import type { CloneFacts, DiskFacts } from '../../../operator/controllers/virtual-machine/world.ts'
import type { KubeObject, ObjectMeta } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT } from '../../../operator/kube/resource-types.ts'
import { ARTIFACT, childMeta } from './machine-objects.ts'

const NOT_SAID = { reason: '', message: '' }

/** The precondition of a plan that assumes that the machine has no disk. */
export const NO_DISK = [
  {
    absent: [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM].map((type) => ({ type, namespace: 'team', name: 'vm-root' })),
    whose: 'ours',
  },
]

export const NO_SOURCE = [
  { absent: [{ type: VOLUME_SNAPSHOT, namespace: 'farm', name: ARTIFACT.name }], whose: "anybody's" },
]

export const SOURCE: CloneSource = { kind: 'VolumeSnapshot', namespace: 'farm', name: ARTIFACT.name }

export function aDisk(more: Partial<CloneFacts> = {}, metadata: Partial<ObjectMeta> = {}): CloneFacts {
  return {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: childMeta('vm-root', metadata),
    phase: 'Succeeded',
    progress: '100.0%',
    bound: { reason: 'Bound', message: 'PVC Bound' },
    running: { reason: 'Completed', message: '' },
    cloneOf: SOURCE,
    ...more,
  }
}

/** States of a clone as CDI reports them. */
export const DISK = {
  new: { phase: '', progress: '', bound: NOT_SAID, running: NOT_SAID },
  scheduled: { phase: 'CloneScheduled', progress: 'N/A', bound: NOT_SAID, running: NOT_SAID },
  cloning: { phase: 'CloneInProgress', progress: '42.0%', bound: NOT_SAID, running: NOT_SAID },
  erring: {
    phase: 'CloneInProgress',
    progress: '42.0%',
    bound: NOT_SAID,
    running: { reason: 'Error', message: 'Unable to clone: no space left on device' },
  },
  waiting: { phase: 'WaitForFirstConsumer', progress: 'N/A', bound: NOT_SAID, running: NOT_SAID },
  populating: { phase: 'PendingPopulation', progress: 'N/A', bound: NOT_SAID, running: NOT_SAID },
  failed: { phase: 'Failed', progress: '', bound: NOT_SAID, running: { reason: 'Error', message: 'PVC Lost' } },
  succeeded: { phase: 'Succeeded', progress: '100.0%', bound: { reason: 'Bound', message: 'PVC Bound' } },
} as const satisfies Record<string, Partial<CloneFacts>>

/** The StorageClass of the disk. Its volumes can grow by default. */
export function aStorageClass(allowVolumeExpansion = true): StorageClassView {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast' },
    provisioner: '',
    waitsForPod: false,
    allowVolumeExpansion,
  }
}

/** The claim of the root disk, as CDI makes it. */
export function aClaim(metadata: Partial<ObjectMeta> = {}): KubeObject {
  const owner = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', name: 'vm-root', uid: 'uid of vm-root' }
  const ownerReferences = [{ ...owner, controller: true }]
  const meta = childMeta('vm-root', { uid: 'uid of the claim', ownerReferences, ...metadata })
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: meta }
}

/** A spec with one disk beside the root disk, and what is seen of it. @param phase of its claim, if it exists */
export function aFurtherDisk(source: { readonly size: string } | { readonly volume: string }, phase?: string) {
  const spec = { name: 'data', ...source }
  const ownClaim = 'volume' in source ? source.volume : diskClaimName('vm', spec.name)
  const metadata = childMeta(ownClaim)
  const claim = phase === undefined ? undefined : { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, phase }
  const disk: DiskFacts = { spec, claimName: ownClaim, ownClaim, claim, given: undefined }
  return { spec: { disks: [spec] }, disks: [disk], diskClaims: claim !== undefined && 'size' in source ? [claim] : [] }
}
