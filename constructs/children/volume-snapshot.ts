import type { Construct } from 'constructs'
import { childMetadata, type ImageChild, type ImageRef } from './image-child.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'

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
export class VolumeSnapshot extends RenderedObject<VolumeSnapshotObject> {
  constructor(scope: Construct, id: string, props: VolumeSnapshotProps) {
    super(scope, id, volumeSnapshot(props))
  }
}

export function renderVolumeSnapshot(props: VolumeSnapshotProps): VolumeSnapshotObject {
  return renderOne((chart) => new VolumeSnapshot(chart, 'VolumeSnapshot', props))
}

function volumeSnapshot(props: VolumeSnapshotProps): VolumeSnapshotObject {
  const { claimName, snapshotClass } = props
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: childMetadata(props),
    spec: { source: { persistentVolumeClaimName: claimName }, volumeSnapshotClassName: snapshotClass },
  }
}
