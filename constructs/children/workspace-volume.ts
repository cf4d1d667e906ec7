import { Construct } from 'constructs'
import { ANNOTATIONS, LABELS } from '../api/labels.ts'
import type { WorkspaceVolume } from '../api/workspace.ts'
import { RenderedObject, renderChildren } from './rendered-object.ts'
import { type ClaimsOfVolumes, presentClaimName } from './volume-claims.ts'
import {
  clusterWideMetadata,
  restoredClaimMetadata,
  type WorkspaceChild,
  type WorkspaceRef,
  workspaceChildMetadata,
} from './workspace-child.ts'
import { claimName, persistentVolumeName } from './workspace-names.ts'

export interface VolumeStorageProps {
  readonly workspace: WorkspaceRef
  readonly volume: WorkspaceVolume
  /** Directory on the nodes for volumes with a `localPath`, from the policy. */
  readonly localVolumeRoot?: string | undefined
  /** Claims of volumes that were restored. @default none */
  readonly volumeClaims?: ClaimsOfVolumes | undefined
}

interface Storage {
  readonly storage: string
}

export type ClaimObject = WorkspaceChild<
  'PersistentVolumeClaim',
  {
    readonly accessModes: readonly ['ReadWriteOnce']
    readonly resources: { readonly requests: Storage }
    readonly storageClassName?: ''
    readonly volumeName?: string
  }
>

export type PersistentVolumeObject = WorkspaceChild<
  'PersistentVolume',
  {
    readonly capacity: Storage
    readonly accessModes: readonly ['ReadWriteOnce']
    readonly persistentVolumeReclaimPolicy: 'Retain'
    readonly local: { readonly path: string }
    readonly claimRef: { readonly namespace: string; readonly name: string }
    readonly nodeAffinity: object
  }
>

/** On nodes that have the directories of local volumes. */
const LOCAL_VOLUMES = 'pelotech.ot/local-volumes'
const ACCESS_MODES = ['ReadWriteOnce'] as const

/**
 * One volume: its claim, after a PersistentVolume for a directory of a node if the policy has a root for such directories and the volume has
 * a path below it. The content of the directory is kept when the volume is deleted.
 */
export class WorkspaceVolumeStorage extends Construct {
  constructor(scope: Construct, id: string, props: VolumeStorageProps) {
    super(scope, id)
    for (const one of storageOf(props)) new RenderedObject(this, `${one.kind}-${one.metadata.name}`, one)
  }
}

export function renderWorkspaceVolume(props: VolumeStorageProps): (ClaimObject | PersistentVolumeObject)[] {
  return renderChildren((chart) => new WorkspaceVolumeStorage(chart, 'Volume', props))
}

function storageOf(props: VolumeStorageProps): (ClaimObject | PersistentVolumeObject)[] {
  const restored = presentClaimName(props.volume.name, props.volumeClaims)
  return restored === claimName(props.volume.name) ? firstStorageOf(props) : [restoredClaim(props, restored)]
}

/** It was made from a snapshot, and keeps the class that it was given. A driver that takes snapshots is not one of folders of nodes. */
function restoredClaim({ workspace, volume }: VolumeStorageProps, name: string): ClaimObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: restoredClaimMetadata({ workspace, name, labels: { [LABELS.volume]: claimName(volume.name) } }),
    spec: { accessModes: ACCESS_MODES, resources: { requests: { storage: volume.size } } },
  }
}

function firstStorageOf(props: VolumeStorageProps): (ClaimObject | PersistentVolumeObject)[] {
  const { workspace, volume, localVolumeRoot } = props
  const { name, size, localPath } = volume
  const path =
    localVolumeRoot === undefined || localPath === undefined
      ? undefined
      : folderOf(localVolumeRoot, workspace.name, localPath)
  const volumeName = persistentVolumeName(workspace.name, name)
  const annotations = localPath === undefined || path !== undefined ? undefined : { [ANNOTATIONS.localPath]: localPath }
  const claim: ClaimObject = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: workspaceChildMetadata({ workspace, name: claimName(name), ...(annotations && { annotations }) }),
    spec: {
      accessModes: ACCESS_MODES,
      resources: { requests: { storage: size } },
      // With the empty class, only that volume can be bound to the claim.
      ...(path !== undefined && { storageClassName: '', volumeName }),
    },
  }
  if (path === undefined) return [claim]
  const local: PersistentVolumeObject = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: clusterWideMetadata({ workspace, name: volumeName }),
    spec: {
      capacity: { storage: size },
      accessModes: ACCESS_MODES,
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path },
      claimRef: { namespace: workspace.name, name: claim.metadata.name },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: LOCAL_VOLUMES, operator: 'In', values: ['true'] }] }],
        },
      },
    },
  }
  return [local, claim]
}

function folderOf(root: string, workspace: string, localPath: string): string {
  return [root, workspace, localPath]
    .flatMap((path) => path.split('/').filter((part) => part !== ''))
    .reduce((path, part) => `${path}/${part}`, '')
}
