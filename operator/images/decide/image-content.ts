import {
  ANNOTATIONS,
  revisionOf,
  shortHash,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { ImageView } from '../image-view.ts'
import { parsedImageSpec } from '../parsed-spec.ts'

/** What an image says of itself, if that is about its spec and requests as they are. */
export function statusOfPresent({ spec, status, metadata }: ImageView): VMDiskImageStatus {
  const parsed = parsedImageSpec(spec)
  if (status.observedGeneration !== metadata.generation) return {}
  if (!parsed.ok) return status
  const revision = revisionOf(parsed.spec, metadata.annotations?.[ANNOTATIONS.syncRequestedAt])
  const { secretRef = status.defaults?.secretRef, certConfigMap = status.defaults?.certConfigMap } = parsed.spec
  const budgetKey = () => budgetKeyOf(revision, { secretRef, certConfigMap }, metadata.annotations)
  // A retry is a request to one that has failed.
  const isAnswered = status.phase !== 'Failed' || status.budget?.key === budgetKey()
  return status.revision === revision && isAnswered ? status : {}
}

/** What a budget of downloads is for: these credentials, and this request for a retry. */
export function budgetKeyOf(
  revision: string,
  { secretRef, certConfigMap }: Pick<VMDiskImageSpec, 'secretRef' | 'certConfigMap'>,
  annotations: KubeObject['metadata']['annotations'],
): string {
  return shortHash([revision, secretRef, certConfigMap, annotations?.[ANNOTATIONS.retryRequestedAt]])
}

/** Whether its deletion waits for what uses it. */
export function isDeletionBlocked({ status: { conditions = [] } }: ImageView): boolean {
  return conditions.some(({ type, status }) => type === 'DeletionBlocked' && status === 'True')
}

/** The image to be written, as long as it is the one that was seen: with these fields as wanted. What people have set beside them stays. */
export function withFields(
  { apiVersion, kind, metadata, spec }: ImageView,
  fields: readonly string[],
  wanted: VMDiskImageSpec,
  annotations: KubeObject['metadata']['annotations'],
): KubeObject {
  const { namespace = '', name, uid, resourceVersion, labels } = metadata
  const kept = Object.entries(spec ?? {}).filter(([field]) => !fields.includes(field))
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, uid, resourceVersion, labels, annotations },
    spec: { ...Object.fromEntries(kept), ...wanted },
  } as KubeObject
}
