import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { SHARED_LABEL } from '@open-terrain/constructs/operator'
import type { KubeObject, ObjectMeta, Raw } from '../kube/kube-object.ts'
import { upTo, VALUE_MAX } from '../runtime/foreign.ts'
import {
  type ConditionView,
  deduplicated,
  intern,
  internCondition,
  internList,
  sharedInFamily,
} from '../runtime/interned.ts'
import type { CloneSource } from './clone-sources.ts'
import { type ImporterView, viewImporter } from './importer-container.ts'
import { keptMetadata, type Matters } from './kept-metadata.ts'

/**
 * The parts of third-party objects that the caches keep: only the fields that decisions depend on and the fields that the operator owns. There are
 * tens of thousands of objects.
 */

export interface DataVolumeView extends KubeObject {
  readonly phase: string
  readonly progress: string
  readonly restartCount: number
  readonly bound: ConditionView
  readonly running: ConditionView
  readonly ready: ConditionView
  readonly cloneOf: CloneSource | undefined
}

export interface ClaimView extends KubeObject {
  readonly phase: string
  readonly volumeMode: string | undefined
  readonly accessModes: readonly string[]
  readonly capacity: string | undefined
  /** Requested storage of a workspace's claim, or of a machine's; undefined for all other claims. */
  readonly requested: string | undefined
  /** Volume of a workspace's claim; undefined for all other claims, and before the claim has one. */
  readonly volumeName: string | undefined
  /** Storage class of a workspace's claim, or of a machine's; undefined for all other claims. */
  readonly storageClass: string | undefined
}

export interface SnapshotView extends KubeObject {
  readonly spec: unknown
  readonly claimName: string | undefined
  readonly snapshotClass: string | undefined
  readonly readyToUse: boolean
  readonly restoreSize: string | undefined
  readonly error: string | undefined
  /** When it was taken, in RFC 3339, for one of a workspace's volume; undefined for all others. */
  readonly takenAt?: string | undefined
}

export interface DataSourceView extends KubeObject {
  readonly spec: unknown
}

export interface PodView extends KubeObject {
  readonly phase: string
  /** In a conversion, the second importer pod has a scratch volume. It is normal that it replaces the first pod. */
  readonly hasScratch: boolean
  readonly importer: ImporterView
}

/** For kinds of which only existence matters. */
export type MetaView = KubeObject

/** Annotation of CDI on a claim: the phase of the pod that fills it. CDI starts none for a claim whose pod has Succeeded. */
export const POD_PHASE = 'cdi.kubevirt.io/storage.pod.phase'
/** Annotation on a DataVolume: something else fills its claim, and CDI creates none. The value is of no importance. */
const PRE_POPULATED = 'cdi.kubevirt.io/storage.prePopulated'
/** Annotation on a claim without an owner: name of the DataVolume that CDI makes its owner. */
export const POPULATED_FOR = 'cdi.kubevirt.io/storage.populatedFor'

/**
 * Reports whether somebody else fills the claim of a DataVolume. CDI makes no other claim then. A restore in place says so before it deletes the claim,
 * and needs the DataVolume afterwards.
 */
export function isFilledByOthers(dataVolume: KubeObject | undefined): boolean {
  return dataVolume?.metadata.annotations?.[PRE_POPULATED] !== undefined
}

const CHILD: Matters = {
  labels: Object.values(LABELS),
  // The last ones are of CDI: the method by which it clones, what a restore of KubeVirt leaves to it, and whether a claim is filled.
  annotations: [
    ANNOTATIONS.attempt,
    ANNOTATIONS.imageNameFull,
    ANNOTATIONS.rendered,
    'cdi.kubevirt.io/cloneType',
    PRE_POPULATED,
    POPULATED_FOR,
    POD_PHASE,
  ],
}

/** Keeps the finalizers of a child only while it is being deleted. Otherwise they do not matter. */
function metadataOf({ finalizers = [], ...rest }: ObjectMeta): ObjectMeta {
  const metadata = rest.deletionTimestamp === undefined ? rest : { ...rest, finalizers }
  return sharedInFamily(deduplicated(keptMetadata(metadata, CHILD)), metadata.labels?.[LABELS.imageUid])
}

// The views are object literals with all members, not spreads of each other: V8 allocates no spare space for literals.

export function viewDataVolume(object: KubeObject): DataVolumeView {
  const raw: Raw = object
  const conditions: Raw[] = raw.status?.conditions ?? []
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: metadataOf(object.metadata),
    phase: upTo(64, raw.status?.phase),
    progress: upTo(16, raw.status?.progress),
    restartCount: raw.status?.restartCount ?? 0,
    bound: conditionOf(conditions, 'Bound'),
    running: conditionOf(conditions, 'Running'),
    ready: conditionOf(conditions, 'Ready'),
    cloneOf: cloneSource(raw.spec, object.metadata.namespace ?? ''),
  }
}

export function viewClaim(object: KubeObject): ClaimView {
  const raw: Raw = object
  const isCounted = isOfWorkspace(object) || object.metadata.labels?.[LABELS.vmUid] !== undefined
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: metadataOf(object.metadata),
    phase: raw.status?.phase ?? '',
    volumeMode: intern(raw.spec?.volumeMode),
    accessModes: internList(raw.spec?.accessModes ?? []),
    capacity: raw.status?.capacity?.storage,
    requested: isCounted ? intern(raw.spec?.resources?.requests?.storage) : undefined,
    volumeName: isOfWorkspace(object) ? raw.spec?.volumeName : undefined,
    storageClass: isCounted ? intern(raw.spec?.storageClassName) : undefined,
  }
}

/** Checks the label. Caches keep more of these objects than of all others, of which there may be very many. */
export function isOfWorkspace({ metadata }: KubeObject): boolean {
  return metadata.labels?.[LABELS.workspaceUid] !== undefined
}

/** Returns the name of the source that fills the claim. Only live lists use it, so no cache keeps it. */
export function sourceOfClaim(claim: KubeObject): string | undefined {
  const { spec }: Raw = claim
  return spec?.dataSourceRef?.name ?? spec?.dataSource?.name
}

export function viewSnapshot(object: KubeObject): SnapshotView {
  const raw: Raw = object
  const { volumeSnapshotClassName: snapshotClass, source } = raw.spec ?? {}
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: metadataOf(object.metadata),
    spec: { volumeSnapshotClassName: snapshotClass, source },
    claimName: source?.persistentVolumeClaimName,
    snapshotClass,
    readyToUse: raw.status?.readyToUse === true,
    restoreSize: raw.status?.restoreSize,
    error: raw.status?.error?.message,
    takenAt: isOfWorkspace(object) ? raw.status?.creationTime : undefined,
  }
}

export function viewDataSource(object: KubeObject): DataSourceView {
  const { apiVersion, kind, metadata, spec }: Raw = object
  return { apiVersion, kind, metadata: metadataOf(metadata), spec }
}

export function viewPod(object: KubeObject): PodView {
  const { apiVersion, kind, metadata, spec, status }: Raw = object
  const claims: Raw[] = (spec?.volumes ?? []).map((volume: Raw) => volume.persistentVolumeClaim?.claimName)
  const hasScratch = claims.some((name) => String(name).endsWith('-scratch'))
  const phase = status?.phase ?? ''
  return { apiVersion, kind, metadata: metadataOf(metadata), phase, hasScratch, importer: viewImporter(status) }
}

export function viewMeta({ apiVersion, kind, metadata }: KubeObject, matters?: Matters): MetaView {
  return { apiVersion, kind, metadata: keptMetadata(metadata, matters) }
}

/** For kinds of which workspaces have some objects. */
export const OF_WORKSPACE = {
  labels: [LABELS.workspaceUid, LABELS.workspace, LABELS.managedBy],
  annotations: [ANNOTATIONS.rendered],
}
const POD_SECURITY = ['pod-security.kubernetes.io/enforce', 'pod-security.kubernetes.io/enforce-version']
const OF_NAMESPACE: Matters = { ...OF_WORKSPACE, labels: [...OF_WORKSPACE.labels, ...POD_SECURITY] }
const OF_SECRET = {
  labels: [LABELS.vmUid, LABELS.vmName, SHARED_LABEL, ...OF_WORKSPACE.labels],
  annotations: [
    ANNOTATIONS.cloudInit,
    ANNOTATIONS.hosts,
    ANNOTATIONS.generatedKeys,
    ANNOTATIONS.copiedFrom,
    ANNOTATIONS.copiedVersion,
    ...OF_WORKSPACE.annotations,
  ],
}

/** Keeps the owner of a namespace and its Pod Security level. */
export function viewNamespace(object: KubeObject): MetaView {
  return viewMeta(object, OF_NAMESPACE)
}

/** For Secrets that the operator created, keeps their purpose and the hash of their content. For those of others, whether they are shared. */
export function viewSecret(object: KubeObject): MetaView {
  return viewMeta(object, OF_SECRET)
}

/** Reports whether a pod may still do work. A terminated pod may be kept for its log. */
export function isAlive({ phase }: Pick<PodView, 'phase'>): boolean {
  return phase !== 'Succeeded' && phase !== 'Failed'
}

/** Its PersistentVolume is gone: nothing can be cloned from it. Kubernetes binds it again if the volume comes back. */
export function hasLostVolume({ phase }: ClaimView): boolean {
  return phase === 'Lost'
}

const NO_CONDITION: ConditionView = { status: '', reason: '', message: '' }

/** Returns one condition of a third-party object, with empty strings if it has none of this type. */
export function conditionOf(conditions: readonly Raw[], type: string): ConditionView {
  const found = conditions.find((one) => one.type === type)
  if (found === undefined) return NO_CONDITION
  return internCondition({ status: found.status ?? '', reason: found.reason ?? '', message: found.message ?? '' })
}

function cloneSource(spec: Raw, ownNamespace: string): CloneSource | undefined {
  const { source, sourceRef } = spec ?? {}
  return sourceNamed({ ...source, ...(sourceRef?.kind === 'DataSource' && { dataSource: sourceRef }) }, ownNamespace)
}

/** Returns the target of a DataSource, which may be another DataSource. */
export function targetOfDataSource({ spec, metadata }: DataSourceView): CloneSource | undefined {
  return sourceNamed((spec as Raw)?.source, metadata.namespace ?? '')
}

function sourceNamed(source: Raw, ownNamespace: string): CloneSource | undefined {
  const { snapshot, pvc, dataSource } = source ?? {}
  const named = (kind: CloneSource['kind'], ref: Raw): CloneSource | undefined =>
    ref?.name ? { kind, namespace: ref.namespace ?? ownNamespace, name: ref.name } : undefined
  return named('VolumeSnapshot', snapshot) ?? named('PersistentVolumeClaim', pvc) ?? named('DataSource', dataSource)
}

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

export interface SnapshotClassView extends MetaView {
  readonly driver: string
}

export function viewSnapshotClass(object: KubeObject): SnapshotClassView {
  const { driver }: Raw = object
  return { ...viewMeta(object), driver: intern(upTo(VALUE_MAX, driver)) }
}

/**
 * Reports whether a snapshot class can be of volumes of a storage class. The provisioner of CSI serves classes that have the name of its driver alone. One
 * of Kubernetes's own plug-ins (`kubernetes.io/aws-ebs`) is replaced by a driver, of whatever name.
 */
export function mayBeSnapshotted(provisioner: string, driver: string): boolean {
  return provisioner === '' || driver === '' || provisioner === driver || provisioner.startsWith('kubernetes.io/')
}

export interface StorageClassView extends MetaView {
  readonly provisioner: string
  /** Whether its volumes can be expanded. */
  readonly allowVolumeExpansion: boolean
  /** Whether a claim stays without a volume until a pod uses it. */
  readonly waitsForPod: boolean
}

export function viewStorageClass(object: KubeObject): StorageClassView {
  const { apiVersion, kind, metadata } = viewMeta(object, { annotations: [DEFAULT_CLASS] })
  const { allowVolumeExpansion, provisioner, volumeBindingMode }: Raw = object
  const driver = intern(upTo(VALUE_MAX, provisioner))
  const [expands, waitsForPod] = [allowVolumeExpansion === true, volumeBindingMode === 'WaitForFirstConsumer']
  return { apiVersion, kind, metadata, provisioner: driver, allowVolumeExpansion: expands, waitsForPod }
}

export function isDefaultClass({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[DEFAULT_CLASS] === 'true'
}

export interface StorageProfileView extends MetaView {
  /** CDI has processed the class and found no access mode that a claim of it could have. */
  readonly isEmpty: boolean
}

export function viewStorageProfile(object: KubeObject): StorageProfileView {
  const { status }: Raw = object
  const { apiVersion, kind, metadata } = viewMeta(object)
  return { apiVersion, kind, metadata, isEmpty: status !== undefined && !status.claimPropertySets?.length }
}
