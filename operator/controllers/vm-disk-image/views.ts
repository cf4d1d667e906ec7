import { ANNOTATIONS, FINALIZER, LABELS, type VMDiskImageStatus } from '@open-terrain/constructs'
import type { CloneSource } from '../../cluster/clone-sources.ts'
import type { KubeObject, ObjectMeta } from '../../kube/kube-object.ts'
import { upTo } from '../../runtime/foreign.ts'
import { deduplicated, INTERNED_MAX, intern, internList, isCommon } from '../../runtime/interned.ts'
import { keptMetadata, type Matters } from '../../runtime/kept-metadata.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { type ImporterView, viewImporter } from './decide/importer.ts'

/**
 * What the caches keep of each object: the fields that decisions rest on and the fields that we own, nothing else. There
 * are tens of thousands of them.
 */

/** A VMDiskImage as stored; the spec is unchecked, it may stem from an older schema. */
export interface ImageView extends KubeObject {
  readonly spec: unknown
  readonly status: VMDiskImageStatus
}

export interface ConditionView {
  readonly status: string
  readonly reason: string
  readonly message: string
}

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
}

export interface SnapshotView extends KubeObject {
  readonly spec: unknown
  readonly claimName: string | undefined
  readonly snapshotClass: string | undefined
  readonly readyToUse: boolean
  readonly restoreSize: string | undefined
  readonly error: string | undefined
}

export interface DataSourceView extends KubeObject {
  readonly spec: unknown
}

export interface PodView extends KubeObject {
  readonly phase: string
  /** The importer's second pod of a conversion has a scratch volume; that it replaces the first one is normal. */
  readonly hasScratch: boolean
  readonly importer: ImporterView
}

/** For kinds of which only existence matters. */
export type MetaView = KubeObject

/** The object as the API server sends it; parts may be missing whatever the schema says. */
// biome-ignore lint/suspicious/noExplicitAny: this is the edge where JSON of others is read, field by field
type Raw = any

/** Ours, and those of Kubernetes that say how a deletion goes on. */
const FINALIZERS: ReadonlySet<string> = new Set([FINALIZER, 'orphan', 'foregroundDeletion'])

const OWN: Matters = {
  finalizers: FINALIZERS,
  labels: [LABELS.createdBy],
  annotations: [
    ANNOTATIONS.syncRequestedAt,
    ANNOTATIONS.retryRequestedAt,
    ANNOTATIONS.creator,
    ANNOTATIONS.workspaceId,
    ANNOTATIONS.workspaceVersion,
    ANNOTATIONS.workspaceVm,
  ],
  // One request for each DataSync that shares the image: a part of them would be written again and again.
  whole: ANNOTATIONS.requestsReached,
}

export function viewImage(object: KubeObject): ImageView {
  const raw: Raw = object
  const metadata = keptMetadata(object.metadata, OWN)
  const seen = new Map<string, string>()
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: deduplicated(metadata, seen),
    spec: deduplicated(raw.spec, seen),
    status: deduplicated(raw.status ?? {}, seen),
  }
}

const CHILD: Matters = {
  finalizers: FINALIZERS,
  labels: Object.values(LABELS),
  // The last one is CDI's: how it makes a clone.
  annotations: [ANNOTATIONS.attempt, ANNOTATIONS.imageNameFull, 'cdi.kubevirt.io/cloneType'],
}

/** A child's finalizers are of interest only when it is on its way out. */
function childMetadata({ finalizers = [], ...rest }: ObjectMeta): ObjectMeta {
  const metadata = rest.deletionTimestamp === undefined ? rest : { ...rest, finalizers }
  return likeItsSiblings(deduplicated(keptMetadata(metadata, CHILD)))
}

interface Family {
  labels: ObjectMeta['labels']
  ownerReferences: ObjectMeta['ownerReferences']
  /** Of the one that was looked at last. */
  name: string
  creationTimestamp: ObjectMeta['creationTimestamp']
}
/** By uid of the image. More than anybody is expected to have; when it is full, it begins anew. */
const families = new Map<string, Family>()
const FAMILIES_MAX = 20_000

/** The children of an image nearly all say the same about where they belong, and often have one name and one second: a fifth of what the caches weigh. */
function likeItsSiblings(metadata: ObjectMeta): ObjectMeta {
  const { name, creationTimestamp, labels, ownerReferences } = metadata
  const uid = labels?.[LABELS.imageUid]
  if (uid === undefined) return metadata
  const family = families.get(uid) ?? newFamily(uid)
  // An equal text does not take the place of the one that the sibling has.
  if (name !== family.name) family.name = name
  if (creationTimestamp !== family.creationTimestamp) family.creationTimestamp = creationTimestamp
  family.labels ??= labels
  // A claim belongs to its DataVolume.
  if (ownerReferences?.[0]?.uid === uid) family.ownerReferences ??= ownerReferences
  return {
    ...metadata,
    name: family.name,
    creationTimestamp: family.creationTimestamp,
    labels: isSame(labels, family.labels) ? family.labels : labels,
    ownerReferences: isSame(ownerReferences?.[0], family.ownerReferences?.[0])
      ? family.ownerReferences
      : ownerReferences,
  }
}

function newFamily(uid: string): Family {
  const family: Family = { labels: undefined, ownerReferences: undefined, name: '', creationTimestamp: undefined }
  if (families.size >= FAMILIES_MAX) families.clear()
  families.set(uid, family)
  return family
}

// The views are literals with all of their members, not spreads of one another: V8 lays those out without spare room.

export function viewDataVolume(object: KubeObject): DataVolumeView {
  const raw: Raw = object
  const conditions: Raw[] = raw.status?.conditions ?? []
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: childMetadata(object.metadata),
    phase: upTo(64, raw.status?.phase),
    progress: upTo(16, raw.status?.progress),
    restartCount: raw.status?.restartCount ?? 0,
    bound: condition(conditions, 'Bound'),
    running: condition(conditions, 'Running'),
    ready: condition(conditions, 'Ready'),
    cloneOf: cloneSource(raw.spec, object.metadata.namespace ?? ''),
  }
}

export function viewClaim(object: KubeObject): ClaimView {
  const raw: Raw = object
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: childMetadata(object.metadata),
    phase: raw.status?.phase ?? '',
    volumeMode: intern(raw.spec?.volumeMode),
    accessModes: internList(raw.spec?.accessModes ?? []),
    capacity: raw.status?.capacity?.storage,
  }
}

/** What the claim is filled from. Of interest in live lists alone, so no cache keeps it. */
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
    metadata: childMetadata(object.metadata),
    spec: { volumeSnapshotClassName: snapshotClass, source },
    claimName: source?.persistentVolumeClaimName,
    snapshotClass,
    readyToUse: raw.status?.readyToUse === true,
    restoreSize: raw.status?.restoreSize,
    error: raw.status?.error?.message,
  }
}

export function viewDataSource(object: KubeObject): DataSourceView {
  const raw: Raw = object
  const { apiVersion, kind, metadata } = object
  return { apiVersion, kind, metadata: childMetadata(metadata), spec: raw.spec }
}

export function viewPod(object: KubeObject): PodView {
  const raw: Raw = object
  const volumes: Raw[] = raw.spec?.volumes ?? []
  const hasScratch = volumes.some((volume) =>
    String(volume.persistentVolumeClaim?.claimName ?? '').endsWith('-scratch'),
  )
  const { apiVersion, kind, metadata } = object
  const phase = raw.status?.phase ?? ''
  return { apiVersion, kind, metadata: childMetadata(metadata), phase, hasScratch, importer: viewImporter(raw.status) }
}

export function viewMeta(object: KubeObject): MetaView {
  return { apiVersion: object.apiVersion, kind: object.kind, metadata: keptMetadata(object.metadata) }
}

/** Of a Secret, what it was made for and the hash of its content, where it is one of ours. */
export function viewSecret(object: KubeObject): MetaView {
  const { apiVersion, kind, metadata } = object
  return {
    apiVersion,
    kind,
    metadata: keptMetadata(metadata, { labels: SECRET_LABELS, annotations: [ANNOTATIONS.cloudInit] }),
  }
}

const SECRET_LABELS = [LABELS.vmUid, LABELS.vmName, LABELS.managedBy]

/** Whether a pod may still do something; one that has ended may be kept for its log. */
export function isAlive({ phase }: PodView): boolean {
  return phase !== 'Succeeded' && phase !== 'Failed'
}

/** Number of the attempt that a DataVolume of ours was made for, from 1. */
export function attemptOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[ANNOTATIONS.attempt] ?? 1)
}

const NO_CONDITION: ConditionView = { status: '', reason: '', message: '' }

function condition(conditions: Raw[], type: string): ConditionView {
  const found = conditions.find((one) => one.type === type)
  if (found === undefined) return NO_CONDITION
  const said = { status: found.status ?? '', reason: found.reason ?? '', message: found.message ?? '' }
  return sharedCondition(said)
}

/** Most finished downloads say the same. */
const sharedConditions = new Map<string, ConditionView>()

function sharedCondition({ status, reason, message }: ConditionView): ConditionView {
  const isOften = message === '' || isCommon(message)
  const text = `${status} ${reason} ${message}`
  const known = isOften ? sharedConditions.get(text) : undefined
  if (known !== undefined) return known
  const own = { status: intern(status), reason: intern(reason), message: intern(message) }
  if (isOften && sharedConditions.size < INTERNED_MAX) sharedConditions.set(text, own)
  return own
}

function cloneSource(spec: Raw, ownNamespace: string): CloneSource | undefined {
  const { source, sourceRef } = spec ?? {}
  return sourceNamed({ ...source, ...(sourceRef?.kind === 'DataSource' && { dataSource: sourceRef }) }, ownNamespace)
}

/** What a DataSource leads to; it may be another DataSource. */
export function targetOfDataSource({ spec, metadata }: DataSourceView): CloneSource | undefined {
  const raw: Raw = spec
  return sourceNamed(raw?.source, metadata.namespace ?? '')
}

function sourceNamed(source: Raw, ownNamespace: string): CloneSource | undefined {
  const { snapshot, pvc, dataSource } = source ?? {}
  const named = (kind: CloneSource['kind'], ref: Raw): CloneSource | undefined =>
    ref?.name ? { kind, namespace: ref.namespace ?? ownNamespace, name: ref.name } : undefined
  return named('VolumeSnapshot', snapshot) ?? named('PersistentVolumeClaim', pvc) ?? named('DataSource', dataSource)
}

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

export interface StorageClassView extends MetaView {
  /** Whether a volume of it can grow. */
  readonly allowVolumeExpansion: boolean
}

export function viewStorageClass(object: KubeObject): StorageClassView {
  const { apiVersion, kind } = object
  const { allowVolumeExpansion } = object as KubeObject & { readonly allowVolumeExpansion?: boolean }
  const metadata = keptMetadata(object.metadata, { annotations: [DEFAULT_CLASS] })
  return { apiVersion, kind, metadata, allowVolumeExpansion: allowVolumeExpansion === true }
}

export function isDefaultClass({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[DEFAULT_CLASS] === 'true'
}
