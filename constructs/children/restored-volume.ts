import type { Construct } from 'constructs'
import { LABELS } from '../api/labels.ts'
import { type MemberSnapshotMetadata, type MemberSnapshotProps, pointMetadata } from './member-snapshot.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { restoredClaimMetadata, type WorkspaceChildMetadata, type WorkspaceRef } from './workspace-child.ts'

export interface RestoredVolumeProps extends Pick<MemberSnapshotProps, 'workspace' | 'of'> {
  /** Name of the claim that the volume has if it was never restored. */
  readonly volume: string
  /** Name of its VolumeSnapshot. */
  readonly snapshot: string
  /** Name of the claim, as it was written down: see {@link restoredClaimName}. */
  readonly name: string
  /** As a quantity: at least that of the snapshot. */
  readonly size: string
  /** Of the present claim. Default: that of the cluster. */
  readonly storageClass?: string | undefined
}

/** A claim with what a volume had at a point in time. */
export interface RestoredVolumeObject {
  readonly apiVersion: 'v1'
  readonly kind: 'PersistentVolumeClaim'
  readonly metadata: MemberSnapshotMetadata
  readonly spec: {
    readonly accessModes: readonly ['ReadWriteOnce']
    readonly resources: { readonly requests: { readonly storage: string } }
    readonly storageClassName?: string
    readonly dataSource: {
      readonly apiGroup: 'snapshot.storage.k8s.io'
      readonly kind: 'VolumeSnapshot'
      readonly name: string
    }
  }
}

/** It belongs to the point in time until the volume gets it, and goes with that. */
export class RestoredVolume extends RenderedObject<RestoredVolumeObject> {
  constructor(scope: Construct, id: string, props: RestoredVolumeProps) {
    super(scope, id, restoredVolume(props))
  }
}

export function renderRestoredVolume(props: RestoredVolumeProps): RestoredVolumeObject {
  return renderOne((chart) => new RestoredVolume(chart, 'Volume', props))
}

/** Returns what makes such a claim one of the workspace: it does not go with the point in time any more. */
export function adoptedVolume(
  workspace: WorkspaceRef,
  { volume, name }: Pick<RestoredVolumeProps, 'volume' | 'name'>,
): { readonly apiVersion: 'v1'; readonly kind: 'PersistentVolumeClaim'; readonly metadata: WorkspaceChildMetadata } {
  const metadata = restoredClaimMetadata({ workspace, name, labels: { [LABELS.volume]: volume } })
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata }
}

function restoredVolume({ volume, snapshot, size, storageClass, ...props }: RestoredVolumeProps): RestoredVolumeObject {
  const metadata = pointMetadata(props)
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...metadata, labels: { ...metadata.labels, [LABELS.volume]: volume } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: snapshot },
    },
  }
}
