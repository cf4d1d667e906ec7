import { ANNOTATIONS, LABELS, parseQuantity } from '@open-terrain/constructs'
import type { KubeObject } from '../kube/kube-object.ts'
import { keptMetadata } from './kept-metadata.ts'
import { isOfWorkspace, type MetaView } from './views.ts'

/** Quantities by resource, such as `requests.storage: 10Gi`. */
type Amounts = Readonly<Record<string, string>>

export interface QuotaView extends MetaView {
  readonly hard: Amounts
  readonly used: Amounts
  /** Spec of a workspace's quota; undefined for all other quotas. */
  readonly spec: object | undefined
}

const LABELS_KEPT = [LABELS.workspaceUid, LABELS.workspace, LABELS.managedBy]

interface RawQuota extends KubeObject {
  readonly spec?: { readonly scopes?: readonly string[]; readonly scopeSelector?: unknown }
  readonly status?: { readonly hard?: Amounts; readonly used?: Amounts }
}

/** One with scopes is for some pods alone, and as good as none here. */
export function viewQuota(object: KubeObject): QuotaView {
  const { spec, status } = object as RawQuota
  const { apiVersion, kind, metadata } = object
  const isForAll = spec?.scopes === undefined && spec?.scopeSelector === undefined
  return {
    apiVersion,
    kind,
    metadata: keptMetadata(metadata, { labels: LABELS_KEPT, annotations: [ANNOTATIONS.rendered] }),
    hard: (isForAll && status?.hard) || {},
    used: (isForAll && status?.used) || {},
    spec: isOfWorkspace(object) ? spec : undefined,
  }
}

export interface ImportNeeds {
  readonly diskSize: string
  /** Undefined: the default class, whose class-specific limits are not checked. */
  readonly storageClass: string | undefined
}

/** The target claim, which users see, and the prime claim, which CDI fills before its volume moves to the target. */
const CLAIMS = 2n

/**
 * Returns which need of every import exceeds the quota; undefined if all needs fit. CDI adds a little to the size on filesystems, and its pod has
 * requests of its own. A refusal caused only by those shows up later.
 */
export function lackOfRoom({ hard, used }: QuotaView, { diskSize, storageClass }: ImportNeeds): string | undefined {
  const size = parseQuantity(diskSize)
  const storage = { of: CLAIMS * (size ?? 0n), what: `two claims of ${diskSize} each` }
  const claims = { of: CLAIMS, what: 'two claims' }
  const pods = { of: 1n, what: 'the pod that imports' }
  const ofClass = storageClass === undefined ? undefined : `${storageClass}.storageclass.storage.k8s.io/`
  const needs = {
    'requests.storage': storage,
    persistentvolumeclaims: claims,
    'count/persistentvolumeclaims': claims,
    pods,
    'count/pods': pods,
    ...(ofClass !== undefined && {
      [`${ofClass}requests.storage`]: storage,
      [`${ofClass}persistentvolumeclaims`]: claims,
    }),
  }
  for (const [resource, { of, what }] of Object.entries(needs)) {
    const most = amount(hard[resource])
    if (most !== undefined && (amount(used[resource]) ?? 0n) + of > most) return `${what} (${resource})`
  }
  return undefined
}

function amount(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : parseQuantity(text)
}
