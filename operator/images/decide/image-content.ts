import { ANNOTATIONS, revisionOf, shortHash, type VMDiskImageSpec } from '@open-terrain/constructs'
import type { KubeObject } from '../../kube/kube-object.ts'
import { type ImageView, parsedImageSpec } from '../image-view.ts'

/** Returns the status of an image if it is about the present spec and requests, or else an empty one. */
export function statusOfPresent({ spec, status, metadata }: ImageView): ImageView['status'] {
  const parsed = parsedImageSpec(spec)
  if (status.observedGeneration !== metadata.generation) return {}
  if (!parsed.ok) return status
  const revision = revisionOf(parsed.spec, metadata.annotations?.[ANNOTATIONS.syncRequestedAt])
  const { secretRef = status.defaults?.secretRef, certConfigMap = status.defaults?.certConfigMap } = parsed.spec
  const budgetKey = () => budgetKeyOf(revision, { secretRef, certConfigMap }, metadata.annotations)
  // A retry request applies only to a failed image.
  const isAnswered = status.phase !== 'Failed' || status.budget?.key === budgetKey()
  return status.revision === revision && isAnswered ? status : {}
}

/** Returns the key of what a budget of downloads is for: this revision, these credentials, and this retry request. */
export function budgetKeyOf(
  revision: string,
  { secretRef, certConfigMap }: Pick<VMDiskImageSpec, 'secretRef' | 'certConfigMap'>,
  annotations: KubeObject['metadata']['annotations'],
): string {
  return shortHash([revision, secretRef, certConfigMap, annotations?.[ANNOTATIONS.retryRequestedAt]])
}
