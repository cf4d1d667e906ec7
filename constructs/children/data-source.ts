import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import type { Artifact } from '../api/vm-disk-image.ts'
import { childMetadata, type ImageChild, type ImageRef } from './image-child.ts'
import { render } from './render.ts'

export interface DataSourceProps {
  readonly image: ImageRef
  /** The artifact that the alias points to, in the image's namespace. */
  readonly target: Pick<Artifact, 'kind' | 'name'>
  /** Of the artifact. */
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

/** The stable name of an image: named like it, it always points to the artifact that serves. */
export class DataSource extends ApiObject {
  constructor(scope: Construct, id: string, { image, target, revision }: DataSourceProps) {
    const object = { namespace: image.namespace, name: target.name }
    const spec: DataSourceSpec = { source: target.kind === 'VolumeSnapshot' ? { snapshot: object } : { pvc: object } }
    super(scope, id, {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataSource',
      metadata: childMetadata({ image, name: image.name, revision }),
      spec,
    })
  }
}

export function renderDataSource(props: DataSourceProps): DataSourceObject {
  const [object] = render((chart) => new DataSource(chart, 'DataSource', props))
  return object as DataSourceObject
}
