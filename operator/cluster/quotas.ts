import { ANNOTATIONS, LABELS, parseQuantity } from '@open-terrain/constructs'
import type { KubeObject } from '../kube/kube-object.ts'
import { keptMetadata } from './kept-metadata.ts'
import { isOfWorkspace, type MetaView } from './views.ts'

/** Amounts by resource, as in `requests.storage: 10Gi`. */
type Amounts = Readonly<Record<string, string>>

export interface QuotaView extends MetaView {
  readonly hard: Amounts
  readonly used: Amounts
  /** Of the quota of a workspace; undefined for all others. */
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
  /** Undefined: the default one, whose own limits are not looked at. */
  readonly storageClass: string | undefined
}

/** The claim that people see, and the one that CDI fills before its volume moves there. */
const CLAIMS = 2n

/**
 * What a quota does not leave room for, of what any import needs; undefined where all of it fits. CDI adds a little to the size on filesystems, and
 * its pod has requests of its own: what is refused for those alone shows later.
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
