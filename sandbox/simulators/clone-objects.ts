import * as annotation from './annotations.ts'
import { targetClaim, wantedClaim, withoutSource } from './cdi-objects.ts'
import { type Claim, type DataVolume, ownedBy, type Pod, uidOf } from './models.ts'
import { type CloneSource, keyOfSource } from './source.ts'

/** The objects that CDI creates for one clone. Its helpers are in the namespace of the source, so they have a label instead of an owner reference. */

/** `snapshot`, `csi-clone`: by the driver, from a snapshot or a claim. `copy`: byte by byte. */
export type CloneType = 'snapshot' | 'csi-clone' | 'copy'

export const helperClaimName = (target: Claim, type: CloneType): string =>
  `${type === 'copy' ? 'tmp-source-pvc' : 'tmp-pvc'}-${uidOf(target)}`
export const prepPodName = (target: Claim): string => `prep-${uidOf(target)}`

/** The claim to fill. @param size size of the source, used if the DataVolume sets none */
export function cloneTarget(
  dataVolume: DataVolume,
  source: CloneSource,
  storageClassName: string | undefined,
  size: string,
): Claim {
  const { metadata, spec, ...rest } = targetClaim(dataVolume, storageClassName, 'VolumeCloneSource')
  const hasSize = wantedClaim(dataVolume).resources?.requests?.storage !== undefined
  return {
    ...rest,
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        [annotation.CLONE_SOURCE]: keyOfSource(source),
        [annotation.CLONE_PHASE]: 'Pending',
      },
      finalizers: [annotation.CLONE_FINALIZER],
    },
    spec: hasSize ? spec : { ...spec, resources: { requests: { storage: size } } },
  }
}

/** The claim that the storage fills from the source. Its volume then moves to the target. */
export function helperClaim(
  dataVolume: DataVolume,
  target: Claim,
  source: CloneSource,
  type: CloneType,
  size: string,
): Claim {
  const dataSource =
    source.of === 'snapshot'
      ? { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: source.name }
      : { kind: 'PersistentVolumeClaim', name: source.name }
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...helperMetadata(target, source.namespace),
      name: helperClaimName(target, type),
      labels: { ...dataVolume.metadata.labels, [annotation.OWNED_BY_UID]: uidOf(target) },
    },
    spec: {
      ...withoutSource(target.spec),
      resources: { requests: { storage: size } },
      dataSource,
    },
  }
}

/** The pod that uses the helper claim, so that the claim gets a node or is expanded. */
export function prepPod(target: Claim, helper: Claim): Pod {
  const { namespace = '' } = helper.metadata
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...helperMetadata(target, namespace), name: prepPodName(target) },
    spec: {
      restartPolicy: 'OnFailure',
      volumes: [{ name: 'source', persistentVolumeClaim: { claimName: helper.metadata.name } }],
      containers: [{ name: 'dummy', image: 'registry.example.com/kubevirt/cdi-importer:v1.66.0' }],
    },
  }
}

/** The pod that reads how large the disk in a claim is. It has the label of an importer, and no label of the DataVolume. */
export function sizeDetectionPod(dataVolume: DataVolume, source: Claim): Pod {
  const { namespace = '', name = '' } = source.metadata
  const isBeside = dataVolume.metadata.namespace === namespace
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name: sizeDetectionPodName(source),
      labels: { app: 'containerized-data-importer', [annotation.IMPORTER_LABEL]: annotation.IMPORTER_LABEL_VALUE },
      annotations: { [annotation.CLONE]: `${dataVolume.metadata.namespace}/${dataVolume.metadata.name}` },
      ...(isBeside && { ownerReferences: ownedBy(dataVolume) }),
    },
    spec: {
      restartPolicy: 'OnFailure',
      volumes: [{ name: 'cdi-data-vol', persistentVolumeClaim: { claimName: name } }],
      containers: [{ name: 'size-detection-volume', image: 'registry.example.com/kubevirt/cdi-importer:v1.66.0' }],
    },
  }
}

export const sizeDetectionPodName = (source: Claim): string => `size-detection-${uidOf(source)}`

function helperMetadata(target: Claim, namespace: string) {
  return {
    namespace,
    labels: { [annotation.OWNED_BY_UID]: uidOf(target) },
    annotations: { [annotation.CLONE]: `${target.metadata.namespace}/${target.metadata.name}` },
  }
}
