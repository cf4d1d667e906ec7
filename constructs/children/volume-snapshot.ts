import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { childMetadata, type ImageChild, type ImageRef } from './image-child.ts'

export interface VolumeSnapshotProps {
  readonly image: ImageRef
  readonly name: string
  readonly revision: string
  /** The golden volume's claim, in the image's namespace. Must be Bound. */
  readonly claimName: string
  readonly snapshotClass: string
}

export interface VolumeSnapshotSpec {
  readonly source: { readonly persistentVolumeClaimName: string }
  readonly volumeSnapshotClassName: string
}

export type VolumeSnapshotObject = ImageChild<'VolumeSnapshot', VolumeSnapshotSpec>

/** What disks are cloned from, if a snapshot class is used. */
export class VolumeSnapshot extends ApiObject {
  constructor(scope: Construct, id: string, props: VolumeSnapshotProps) {
    super(scope, id, renderVolumeSnapshot(props))
  }
}

/** The same without a construct. */
export function renderVolumeSnapshot(props: VolumeSnapshotProps): VolumeSnapshotObject {
  const { claimName, snapshotClass } = props
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: childMetadata(props),
    spec: { source: { persistentVolumeClaimName: claimName }, volumeSnapshotClassName: snapshotClass },
  }
}
