import { DATA_SYNC_IMAGE_FIELDS, type DataSyncSpec, type DataSyncVm, dataSync } from '../api/data-sync.ts'
import { dataSyncImageName, type ImageTriple } from '../api/data-sync-names.ts'
import { ANNOTATIONS, LABELS } from '../api/labels.ts'
import type { VMDiskImageSpec } from '../api/vm-disk-image.ts'
import { VMDiskImage } from '../authoring/vm-disk-image.ts'
import { render } from './render.ts'

export interface DataSyncImageProps {
  readonly namespace: string
  readonly triple: ImageTriple
  readonly spec: VMDiskImageSpec
  /** In addition to those that name the triple. */
  readonly annotations?: Readonly<Record<string, string>>
}

export interface DataSyncImageObject {
  readonly apiVersion: string
  readonly kind: 'VMDiskImage'
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }
  readonly spec: VMDiskImageSpec
}

/** Returns the image spec for a vm: its own fields, and those of the DataSync where it has none. */
export function imageSpecOf(spec: DataSyncSpec, vm: DataSyncVm): VMDiskImageSpec {
  const fields = DATA_SYNC_IMAGE_FIELDS.map((field) => {
    const own = vm[field]
    const shared = (spec as Partial<Record<string, unknown>>)[field]
    return [field, own ?? shared] as const
  })
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as VMDiskImageSpec
}

function tripleAnnotations({ workspaceId, version, vm }: ImageTriple): Record<string, string> {
  return {
    [ANNOTATIONS.workspaceId]: workspaceId,
    ...(version !== undefined && { [ANNOTATIONS.workspaceVersion]: version }),
    [ANNOTATIONS.workspaceVm]: vm,
  }
}

/** Reports whether an image with these annotations is for exactly that vm. */
export function isImageFor(triple: ImageTriple, annotations: Readonly<Record<string, string>> = {}): boolean {
  const wanted = tripleAnnotations(triple)
  const keys = [ANNOTATIONS.workspaceId, ANNOTATIONS.workspaceVersion, ANNOTATIONS.workspaceVm]
  return keys.every((key) => annotations[key] === wanted[key])
}

/** Renders the image of one vm. It has no owner: DataSyncs share it, and its own reclaim rules apply when the last one is gone. */
export function renderDataSyncImage({ namespace, triple, spec, annotations }: DataSyncImageProps): DataSyncImageObject {
  const metadata = {
    name: dataSyncImageName(triple),
    namespace,
    labels: { [LABELS.createdBy]: dataSync.kind },
    annotations: { ...tripleAnnotations(triple), ...annotations },
  }
  const [image] = render((chart) => new VMDiskImage(chart, 'VMDiskImage', { ...spec, metadata }))
  return image as DataSyncImageObject
}
