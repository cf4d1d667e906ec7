import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  revisionOf,
  shortHash,
  VM_DISK_IMAGE_CONDITIONS,
  type VMDiskImageSpec,
} from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../kube/kube-object.ts'
import { type ImageView, parsedImageSpec } from '../image-view.ts'

/** Returns the status of an image if it is about the present spec and requests, or else an empty one. */
export function statusOfPresent(image: ImageView): ImageView['status'] {
  const { status, metadata } = image
  const parsed = parsedImageSpec(image)
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

/** Reports whether the deletion of the image waits for its users. */
export function isDeletionBlocked({ status: { conditions = [] } }: ImageView): boolean {
  return conditions.some(({ type, status }) => type === VM_DISK_IMAGE_CONDITIONS.DeletionBlocked && status === 'True')
}

/** Returns the image to write, with these fields as wanted, if it is still the one that was seen. What people have set beside them stays. */
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
