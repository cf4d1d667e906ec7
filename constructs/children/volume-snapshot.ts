import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { childMetadata, type ImageChild, type ImageRef } from './image-child.ts'
import { render } from './render.ts'

export interface VolumeSnapshotProps {
  readonly image: ImageRef
  readonly name: string
  readonly revision: string
  /** The golden volume's claim, in the image's namespace; has to be Bound. */
  readonly claimName: string
  readonly snapshotClass: string
}

export interface VolumeSnapshotSpec {
  readonly source: { readonly persistentVolumeClaimName: string }
  readonly volumeSnapshotClassName: string
}

export type VolumeSnapshotObject = ImageChild<'VolumeSnapshot', VolumeSnapshotSpec>

/** What disks are cloned from, where a snapshot class is used. */
export class VolumeSnapshot extends ApiObject {
  constructor(scope: Construct, id: string, props: VolumeSnapshotProps) {
    const spec: VolumeSnapshotSpec = {
      source: { persistentVolumeClaimName: props.claimName },
      volumeSnapshotClassName: props.snapshotClass,
    }
    super(scope, id, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: childMetadata(props),
      spec,
    })
  }
}

export function renderVolumeSnapshot(props: VolumeSnapshotProps): VolumeSnapshotObject {
  const [object] = render((chart) => new VolumeSnapshot(chart, 'VolumeSnapshot', props))
  return object as VolumeSnapshotObject
}
