import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { ANNOTATIONS } from '../api/labels.ts'
import type { SourceType } from '../api/vm-disk-image.ts'
import { childMetadata, type ImageChild, type ImageRef } from './image-child.ts'
import { render } from './render.ts'

/** Where CDI gets the image from. The type determines which fields it can use. */
export interface DiskSource {
  readonly type: SourceType
  /** Required unless the type is blank. */
  readonly url?: string
  /** Not for blank. */
  readonly secretRef?: string
  /** For s3, http and registry. */
  readonly certConfigMap?: string
  /** For http. */
  readonly checksum?: string
}

export interface DataVolumeProps {
  readonly image: ImageRef
  readonly name: string
  readonly revision: string
  /** From 1. */
  readonly attempt: number
  readonly source: DiskSource
  /** Quantity. */
  readonly diskSize: string
  /** If absent, the default class of the cluster. */
  readonly storageClass?: string
}

interface RemoteSource {
  readonly url: string
  readonly secretRef?: string
  readonly certConfigMap?: string
}

/** Exactly one member. The fields of DataVolume `cdi.kubevirt.io/v1beta1` that we use. */
export interface DataVolumeSource {
  readonly s3?: RemoteSource
  readonly http?: RemoteSource & { readonly checksum?: string }
  readonly gcs?: Omit<RemoteSource, 'certConfigMap'>
  readonly registry?: RemoteSource & { readonly pullMethod: 'pod' }
  readonly blank?: Readonly<Record<string, never>>
}

export interface DataVolumeSpec {
  readonly contentType: 'kubevirt'
  readonly source: DataVolumeSource
  readonly storage: {
    readonly resources: { readonly requests: { readonly storage: string } }
    readonly storageClassName?: string
  }
}

export type DataVolumeObject = ImageChild<'DataVolume', DataVolumeSpec>

/** CDI only checks that it is present. The golden volume has no consumer except its importer, so it must not wait for another one. */
const BIND_IMMEDIATELY = 'cdi.kubevirt.io/storage.bind.immediate.requested'
/** CDI up to 1.61 may garbage-collect a finished DataVolume, which would look like a deletion by somebody. */
export const DELETE_AFTER_COMPLETION = 'cdi.kubevirt.io/storage.deleteAfterCompletion'
/** A mesh proxy in the importer pod would keep the pod from ever completing. */
export const MESH_INJECT = 'sidecar.istio.io/inject'

/**
 * Downloads an image into a golden volume. With the `storage` API, CDI takes access mode and volume mode from the StorageProfile of the class and
 * adds space for the file system. A mode that is set here would break classes that need another one.
 */
export class DataVolume extends ApiObject {
  constructor(scope: Construct, id: string, props: DataVolumeProps) {
    super(scope, id, {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: childMetadata({
        ...props,
        annotations: {
          [ANNOTATIONS.attempt]: String(props.attempt),
          [BIND_IMMEDIATELY]: 'true',
          [DELETE_AFTER_COMPLETION]: 'false',
          [MESH_INJECT]: 'false',
        },
      }),
      spec: dataVolumeSpec(props),
    })
  }
}

export function renderDataVolume(props: DataVolumeProps): DataVolumeObject {
  const [object] = render((chart) => new DataVolume(chart, 'DataVolume', props))
  return object as DataVolumeObject
}

function dataVolumeSpec({ source, diskSize, storageClass }: DataVolumeProps): DataVolumeSpec {
  return {
    contentType: 'kubevirt',
    source: dataVolumeSource(source),
    storage: { resources: { requests: { storage: diskSize } }, storageClassName: storageClass },
  }
}

function dataVolumeSource(source: DiskSource): DataVolumeSource {
  const { type, secretRef, certConfigMap, checksum } = source
  switch (type) {
    case 's3':
      return { s3: { url: urlOf(source), secretRef, certConfigMap } }
    case 'http':
      return { http: { url: urlOf(source), secretRef, certConfigMap, checksum } }
    case 'gcs':
      return { gcs: { url: urlOf(source), secretRef } }
    case 'registry':
      return { registry: { url: urlOf(source), secretRef, certConfigMap, pullMethod: 'pod' } }
    case 'blank':
      return { blank: {} }
  }
}

function urlOf({ type, url }: DiskSource): string {
  if (url === undefined) throw new Error(`a DataVolume with source ${type} needs a url`)
  return url
}
