import type { Construct } from 'constructs'
import type { Artifact } from '../api/vm-disk-image.ts'
import { childMetadata, type ImageChild, type ImageRef } from './image-child.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'

export interface DataSourceProps {
  readonly image: ImageRef
  /** The artifact that the alias points to, in the image's namespace. */
  readonly target: Pick<Artifact, 'kind' | 'name'>
  /** Revision of the artifact. */
  readonly revision: string
}

interface ObjectInNamespace {
  readonly namespace: string
  readonly name: string
}

export interface DataSourceSpec {
  readonly source: { readonly snapshot: ObjectInNamespace } | { readonly pvc: ObjectInNamespace }
}

export type DataSourceObject = ImageChild<'DataSource', DataSourceSpec>

/** The stable alias of an image. It has the name of the image and always points to the artifact in use. */
export class DataSource extends RenderedObject<DataSourceObject> {
  constructor(scope: Construct, id: string, props: DataSourceProps) {
    super(scope, id, dataSource(props))
  }
}

export function renderDataSource(props: DataSourceProps): DataSourceObject {
  return renderOne((chart) => new DataSource(chart, 'DataSource', props))
}

function dataSource({ image, target, revision }: DataSourceProps): DataSourceObject {
  const object = { namespace: image.namespace, name: target.name }
  return {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataSource',
    metadata: childMetadata({ image, name: image.name, revision }),
    spec: { source: target.kind === 'VolumeSnapshot' ? { snapshot: object } : { pvc: object } },
  }
}
