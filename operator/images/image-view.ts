import { ANNOTATIONS, LABELS, parseVMDiskImageSpec, type VMDiskImageStatus } from '@open-terrain/constructs'
import { keptMetadata, type Matters } from '../cluster/kept-metadata.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { deduplicated } from '../runtime/interned.ts'
import { memoized } from '../runtime/memoized.ts'

/** A VMDiskImage as its cache holds it. The spec is not validated: it may come from an older schema. */
export interface ImageView extends KubeObject {
  readonly spec: unknown
  readonly status: VMDiskImageStatus
}

/** Parses the spec of an image by its schema, once for each spec object that a cache returns. */
export const parsedImageSpec = memoized(parseVMDiskImageSpec)

const OWN: Matters = {
  labels: [LABELS.createdBy],
  annotations: [
    ANNOTATIONS.syncRequestedAt,
    ANNOTATIONS.retryRequestedAt,
    ANNOTATIONS.creator,
    ANNOTATIONS.workspaceId,
    ANNOTATIONS.workspaceVersion,
    ANNOTATIONS.workspaceVm,
  ],
  // Has one request for each DataSync that shares the image. If it were cut, the missing ones would be written again and again.
  whole: ANNOTATIONS.requestsReached,
}

export function viewImage(object: KubeObject): ImageView {
  const { apiVersion, kind, spec, status } = object as ImageView
  const metadata = keptMetadata(object.metadata, OWN)
  const seen = new Map<string, string>()
  return {
    apiVersion,
    kind,
    metadata: deduplicated(metadata, seen),
    spec: deduplicated(spec, seen),
    status: deduplicated(status ?? {}, seen),
  }
}
