import { dataSync, virtualMachine, vmDiskImage, workspace, workspaceSnapshot } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf, type ObjectMeta, type ResourceType } from '../../operator/kube/kube-object.ts'
import { type ImageInQueue, imageInQueue, isHeldUp } from '../queue/queue-picture.ts'
import type { Row, UiKind } from './rows.ts'

/** What a store keeps of an object: its row, and what a reflector needs. */
export interface KeptRow {
  readonly metadata: ObjectMeta
  readonly row: Row
  /** Of an image alone. */
  readonly inQueue?: ImageInQueue
}

/** The status of an object of ours. An operator of another version may say more, or less: every field may be missing. */
interface AnyStatus {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
  readonly conditions?: readonly AnyCondition[]
  readonly namespace?: string
  readonly ready?: string
  readonly outdated?: string
  readonly waitingFor?: string
  readonly expiresAt?: string
  readonly warnings?: number
  readonly counts?: { readonly failed?: number }
  readonly queuePosition?: number
  readonly progress?: string
  readonly attempt?: number
  readonly startedAt?: string
  readonly queuedAt?: string
  readonly nextRetryTime?: string
  readonly references?: { readonly count?: number }
}

export interface AnyCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

/** An object of ours as the API server has it. */
export interface SeenObject extends KubeObject {
  readonly spec?: { readonly powerState?: string }
  readonly status?: AnyStatus
}

export const TYPES: Readonly<Record<UiKind, ResourceType & { readonly shortNames?: readonly string[] }>> = {
  labs: workspace,
  images: vmDiskImage,
  machines: virtualMachine,
  syncs: dataSync,
  points: workspaceSnapshot,
}

/** Returns what is kept of an object. There are tens of thousands, and one may say a megabyte. */
export function keptOf(kind: UiKind, object: KubeObject): KeptRow {
  const { name, namespace, uid, resourceVersion } = object.metadata
  const inQueue = kind === 'images' ? imageInQueue(object) : undefined
  return {
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    row: rowOf(kind, object as SeenObject),
    ...(inQueue !== undefined && { inQueue }),
  }
}

/** Returns what the page shows of an object. Undefined fields are left out of JSON. */
export function rowOf(kind: UiKind, object: SeenObject): Row {
  const { metadata, spec, status = {} } = object
  const { namespace, name, generation, deletionTimestamp, creationTimestamp } = metadata
  const { phase, reason, message, observedGeneration } = status
  const conditionOf = (type: string) => status.conditions?.find((one) => one.type === type)
  const upToDate = conditionOf('UpToDate')
  return {
    key: keyOf(metadata),
    name,
    namespace,
    phase: deletionTimestamp === undefined ? phase : 'Terminating',
    reason,
    message,
    since: conditionOf('Ready')?.lastTransitionTime,
    createdAt: creationTimestamp,
    labels: metadata.labels,
    ...(observedGeneration !== undefined && observedGeneration !== generation && { isStale: true }),
    ...(upToDate?.status === 'False' && { outdatedReason: upToDate.reason }),
    ...(kind === 'labs' ? labFields(spec, status) : {}),
    ...(kind === 'images' ? { ...imageFields(status), ...(isHeldUp(imageInQueue(object)) && { isHeldUp: true }) } : {}),
    ...(kind === 'syncs' ? { ready: status.ready } : {}),
  }
}

function labFields(spec: SeenObject['spec'], status: AnyStatus): Partial<Row> {
  const { ready, counts, outdated, waitingFor, expiresAt, warnings, reason, namespace: ownNamespace } = status
  return {
    ownNamespace,
    ready,
    outdated,
    waitingFor,
    expiresAt,
    warnings,
    ...((counts?.failed ?? 0) > 0 && { failed: counts?.failed }),
    ...((spec?.powerState === 'Halted' || reason === 'Halted' || reason === 'Expired') && { isOff: true }),
  }
}

function imageFields(status: AnyStatus): Partial<Row> {
  const { queuePosition, progress, attempt, startedAt, queuedAt, nextRetryTime, references } = status
  return { place: queuePosition, progress, attempt, startedAt, queuedAt, nextRetryTime, users: references?.count }
}
