import { ANNOTATIONS, revisionOf, type VMDiskImageSpec, type VMDiskImageStatus } from '@open-terrain/constructs'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { ImageView } from '../image-view.ts'
import { parsedImageSpec } from '../parsed-spec.ts'

/** What an image says of itself, if that is about its spec and requests as they are. */
export function statusOfPresent({ spec, status, metadata }: ImageView): VMDiskImageStatus {
  const parsed = parsedImageSpec(spec)
  const revision = parsed.ok && revisionOf(parsed.spec, metadata.annotations?.[ANNOTATIONS.syncRequestedAt])
  const isPresent = status.observedGeneration === metadata.generation && (status.revision === revision || !parsed.ok)
  return isPresent ? status : {}
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
