import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  parseVMDiskImageSpec,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
  vmDiskImage,
} from '@open-terrain/constructs/operator'
import { compareTexts } from '../base/messages.ts'
import type { Matters } from '../cluster/kept-metadata.ts'
import { nameIn, type OwnView, ownKind } from '../cluster/own-view.ts'
import { type KubeObject, managedFieldsOf, type ObjectMeta } from '../kube/kube-object.ts'
import { upTo, VALUE_MAX } from '../runtime/foreign.ts'
import { deduplicated, intern } from '../runtime/interned.ts'

/** A VMDiskImage as its cache holds it. */
export interface ImageView extends OwnView {
  readonly status: VMDiskImageStatus
  /** Who changed the spec last, or asked for a sync: the name under which a client or controller writes. */
  readonly changedBy?: string
}

const MATTERS: Matters = {
  labels: [LABELS.createdBy],
  annotations: [
    ANNOTATIONS.syncRequestedAt,
    ANNOTATIONS.retryRequestedAt,
    ANNOTATIONS.adopt,
    ANNOTATIONS.adoptSource,
    ANNOTATIONS.creator,
    ANNOTATIONS.workspaceId,
    ANNOTATIONS.workspaceVersion,
    ANNOTATIONS.workspaceVm,
  ],
  // Has one request for each DataSync that shares the image. If it were cut, the missing ones would be written again and again.
  whole: [ANNOTATIONS.requestsReached],
}

const OWN = ownKind<ImageView, VMDiskImageSpec>({
  type: vmDiskImage,
  parse: parseVMDiskImageSpec,
  // Its schema allows less; only annotations, and specs of an older schema, have more.
  max: 64_000,
  matters: MATTERS,
  references: referencesIn,
  completed,
})

export const { view: viewImage, parsed: parsedImageSpec, keepIn: keepImagesIn } = OWN

function completed(kept: ImageView, object: KubeObject): ImageView {
  const { apiVersion, kind } = kept
  const seen = new Map<string, string>()
  const view = {
    apiVersion,
    kind,
    metadata: deduplicated(kept.metadata, seen),
    spec: deduplicated(kept.spec, seen),
    status: deduplicated(kept.status, seen),
  }
  const changedBy = lastManager(object.metadata)
  return {
    ...view,
    ...(changedBy !== undefined && { changedBy }),
    ...(kept.isCut !== undefined && { isCut: true as const }),
  }
}

const REQUESTS = [ANNOTATIONS.syncRequestedAt, ANNOTATIONS.retryRequestedAt].map((name) => `f:${name}`)

function lastManager(metadata: ObjectMeta): string | undefined {
  const asking = managedFieldsOf(metadata).filter(({ subresource, fieldsV1: fields = {} }) => {
    const annotations = fields['f:metadata']?.['f:annotations'] ?? {}
    return subresource === undefined && ('f:spec' in fields || REQUESTS.some((name) => name in annotations))
  })
  const last = asking.toSorted((one, other) => compareTexts(one.time ?? '', other.time ?? '')).at(-1)
  return last?.manager === undefined ? undefined : intern(upTo(VALUE_MAX, last.manager))
}

/** Fields that name other objects, and the size, which its users ask for. */
function referencesIn(spec: unknown): object {
  const fields = (spec ?? {}) as Readonly<Record<string, unknown>>
  const names = ['storageClass', 'snapshotClass', 'secretRef', 'certConfigMap', 'diskSize']
  const named = names.map((field) => [field, nameIn(fields[field])] as const)
  return Object.fromEntries(named.filter(([, name]) => name !== undefined))
}
