import type { KubeObject, ObjectMeta } from '../../operator/kube/kube-object.ts'

/** The parts of other systems' objects that the simulators read and write. */

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
  readonly lastHeartbeatTime?: string
}

/** One member of a DataVolume's `spec.source`; which fields there are depends on the kind of source. */
export interface SourceFields {
  readonly url?: string
  readonly secretRef?: string
  readonly certConfigMap?: string
  readonly checksum?: string
  readonly namespace?: string
  readonly name?: string
}

export interface ClaimSpec {
  readonly accessModes?: readonly string[]
  readonly volumeMode?: string
  readonly storageClassName?: string
  readonly volumeName?: string
  readonly resources?: { readonly requests?: { readonly storage?: string } }
  readonly dataSourceRef?: { readonly apiGroup?: string; readonly kind: string; readonly name: string }
  readonly dataSource?: { readonly apiGroup?: string; readonly kind: string; readonly name: string }
}

export interface DataVolumeStatus {
  readonly phase?: string
  readonly progress?: string
  readonly restartCount?: number
  readonly claimName?: string
  readonly conditions?: readonly Condition[]
}

export interface DataVolume extends KubeObject {
  readonly spec: {
    readonly source?: Readonly<Record<string, SourceFields>>
    readonly storage?: ClaimSpec
    readonly pvc?: ClaimSpec
    readonly sourceRef?: { readonly kind: string; readonly namespace?: string; readonly name: string }
  }
  readonly status?: DataVolumeStatus
}

/** CDI's pointer to a snapshot or claim. */
export interface DataSource extends KubeObject {
  readonly spec: { readonly source: Readonly<Record<string, SourceFields>> }
}

export interface Claim extends KubeObject {
  readonly spec: ClaimSpec
  readonly status?: {
    readonly phase?: string
    readonly capacity?: Readonly<Record<string, string>>
    readonly accessModes?: readonly string[]
  }
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly running?: { readonly startedAt?: string }
  readonly terminated?: {
    readonly exitCode: number
    readonly reason?: string
    readonly message?: string
    readonly startedAt?: string
    readonly finishedAt?: string
  }
}

export interface ContainerStatus {
  readonly name: string
  readonly image: string
  readonly imageID: string
  readonly ready: boolean
  readonly restartCount: number
  readonly state: ContainerState
  readonly lastState?: ContainerState
}

export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } }
}

export interface PodVolume {
  readonly name: string
  readonly persistentVolumeClaim?: { readonly claimName: string }
  readonly configMap?: { readonly name: string }
  readonly secret?: { readonly secretName: string }
}

export interface Pod extends KubeObject {
  readonly spec: {
    readonly restartPolicy?: string
    readonly terminationGracePeriodSeconds?: number
    readonly volumes?: readonly PodVolume[]
    readonly containers: readonly { readonly name: string; readonly image?: string; readonly env?: readonly EnvVar[] }[]
  }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    readonly conditions?: readonly Condition[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

export interface StorageClass extends KubeObject {
  readonly provisioner?: string
  readonly allowVolumeExpansion?: boolean
  readonly volumeBindingMode?: string
}

/** CDI's own; the simulator makes none, and believes those that are there. */
export interface StorageProfile extends KubeObject {
  readonly status?: { readonly claimPropertySets?: readonly unknown[] }
}

export interface VolumeSnapshotClass extends KubeObject {
  readonly driver?: string
}

export interface VolumeSnapshot extends KubeObject {
  readonly spec: {
    readonly source: { readonly persistentVolumeClaimName?: string }
    readonly volumeSnapshotClassName?: string
  }
  readonly status?: {
    readonly boundVolumeSnapshotContentName?: string
    readonly readyToUse?: boolean
    readonly restoreSize?: string
    readonly creationTime?: string
    readonly error?: { readonly time?: string; readonly message?: string }
  }
}

/** The uid of the controlling owner of the given kind. */
export function ownerUid(metadata: ObjectMeta, kind: string): string | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller && owner.kind === kind)?.uid
}

export function isTerminating(object: { readonly metadata: ObjectMeta }): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

export function uidOf(object: { readonly metadata: ObjectMeta }): string {
  return object.metadata.uid ?? ''
}

/** An ownerReference as CDI writes all of its own: foreground deletion of the owner waits for this object. */
export function ownedBy(owner: KubeObject): NonNullable<ObjectMeta['ownerReferences']> {
  const { apiVersion, kind, metadata } = owner
  return [{ apiVersion, kind, name: metadata.name, uid: uidOf(owner), controller: true, blockOwnerDeletion: true }]
}
