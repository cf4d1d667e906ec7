import type { KubeObject, ObjectMeta } from '../../operator/kube/kube-object.ts'
import type { LabelExpression, LabelSelector } from './label-selector.ts'

/** The parts of other systems' objects that the simulators read and write. */

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
  readonly lastHeartbeatTime?: string
}

/** One member of a DataVolume's `spec.source`. Which fields it has depends on the kind of source. */
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
  readonly started?: boolean
  readonly restartCount: number
  readonly state: ContainerState
  readonly lastState?: ContainerState
}

export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string }
    readonly configMapKeyRef?: { readonly name: string; readonly key: string }
  }
}

export interface PodVolume {
  readonly name: string
  readonly persistentVolumeClaim?: { readonly claimName: string }
  readonly configMap?: { readonly name: string; readonly optional?: boolean }
  readonly secret?: { readonly secretName: string; readonly optional?: boolean }
  readonly projected?: {
    readonly sources?: readonly {
      readonly secret?: {
        readonly name: string
        readonly optional?: boolean
        readonly items?: readonly { readonly key: string; readonly path: string }[]
      }
    }[]
  }
}

export interface ContainerPort {
  readonly containerPort?: number
  readonly hostPort?: number
  readonly hostIP?: string
  readonly protocol?: string
  readonly name?: string
}

interface EnvFromSource {
  readonly secretRef?: { readonly name: string }
  readonly configMapRef?: { readonly name: string }
}

export interface Container {
  readonly name: string
  readonly image?: string
  readonly env?: readonly EnvVar[]
  readonly envFrom?: readonly EnvFromSource[]
  readonly ports?: readonly ContainerPort[]
  readonly resources?: object
}

export interface Pod extends KubeObject {
  readonly spec: {
    readonly restartPolicy?: string
    readonly nodeName?: string
    readonly schedulingGates?: readonly { readonly name: string }[]
    readonly terminationGracePeriodSeconds?: number
    readonly automountServiceAccountToken?: boolean
    readonly nodeSelector?: Readonly<Record<string, string>>
    readonly affinity?: Affinity
    readonly volumes?: readonly PodVolume[]
    readonly containers: readonly Container[]
  }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    readonly podIP?: string
    readonly conditions?: readonly Condition[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

/** What a pod requires of its node. Preferences are ignored. */
export interface Affinity {
  readonly nodeAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector }
  readonly podAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[] }
  readonly podAntiAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[] }
}

export interface AffinityTerm {
  readonly topologyKey: string
  readonly labelSelector?: LabelSelector
  readonly namespaces?: readonly string[]
}

/** One of the terms must hold, with all of its expressions. */
export interface NodeSelector {
  readonly nodeSelectorTerms: readonly {
    readonly matchExpressions?: readonly LabelExpression[]
    /** Only `metadata.name`. */
    readonly matchFields?: readonly LabelExpression[]
  }[]
}

export interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean }
}

export interface PersistentVolume extends KubeObject {
  readonly spec: {
    readonly accessModes?: readonly string[]
    readonly capacity?: Readonly<Record<string, string>>
    readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string }
    readonly nodeAffinity?: { readonly required?: NodeSelector }
    readonly storageClassName?: string
    readonly volumeMode?: string
  }
  readonly status?: { readonly phase?: string }
}

export interface StorageClass extends KubeObject {
  readonly provisioner?: string
  readonly allowVolumeExpansion?: boolean
  readonly volumeBindingMode?: string
}

/** Belongs to CDI. The simulator creates none, and relies on those that exist. */
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

/** Returns the UID of the controlling owner of the given kind. */
export function ownerUid(metadata: ObjectMeta, kind: string): string | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller && owner.kind === kind)?.uid
}

export function isTerminating(object: { readonly metadata: ObjectMeta }): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

export function uidOf(object: { readonly metadata: ObjectMeta }): string {
  return object.metadata.uid ?? ''
}

/** Returns an owner reference as CDI writes all of its own: foreground deletion of the owner waits for this object. */
export function ownedBy(owner: KubeObject): NonNullable<ObjectMeta['ownerReferences']> {
  const { apiVersion, kind, metadata } = owner
  return [{ apiVersion, kind, name: metadata.name, uid: uidOf(owner), controller: true, blockOwnerDeletion: true }]
}
