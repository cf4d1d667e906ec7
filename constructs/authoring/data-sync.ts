import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { dataSync, dataSyncImageName, parseDataSyncSpec } from '../api/data-sync.ts'
import { objectName } from '../api/shared.ts'
import { imageSpecOf } from '../children/data-sync-image.ts'
import { AuthoredObject, writtenSpecOf } from './checked-spec.ts'
import { addKindWords } from './kind-words.ts'
import { namedBy } from './named-by.ts'
import type { AuthoredImage } from './node-problems.ts'
import type { DataSyncSpecInput } from './spec-props.ts'

/** The disk images that a workspace needs: the fields of the spec of a DataSync, beside the metadata. */
export interface DataSyncProps extends DataSyncSpecInput {
  /** Default: the name is the id of the construct. */
  readonly metadata?: ApiObjectMetadata
}

/**
 * The disk images of one version of a workspace. Throws at synth, naming field and fix, if the API server would refuse the object.
 * @example
 * ```ts
 * import { DataSync } from '@open-terrain/constructs'
 *
 * new DataSync(chart, 'images', {
 *   metadata: { name: 'redblue-1.4.0', namespace: 'vmdi-farm' },
 *   workspaceId: 'redblue',
 *   version: '1.4.0',
 *   sourceType: 'http',
 *   diskSize: '20Gi',
 *   vms: [{ name: 'kali', url: 'https://images.example.com/redblue/1.4.0/kali.qcow2' }],
 * })
 * ```
 */
export class DataSync extends AuthoredObject {
  constructor(scope: Construct, id: string, props: DataSyncProps) {
    super(scope, id, { resource: dataSync, name: objectName(), parse: parseDataSyncSpec }, namedBy(id, props))
    // Every object that names an image asks for them.
    let claims: readonly AuthoredImage[] | undefined
    addKindWords(this, { authoredImages: () => (claims ??= imagesIn(writtenSpecOf(this), this.metadata.namespace)) })
  }
}

function imagesIn(written: unknown, namespace: string | undefined): readonly AuthoredImage[] {
  const spec = parseDataSyncSpec(written)
  if (!spec.ok) return []
  const { workspaceId, version, vms } = spec.spec
  return vms.map((vm) => ({
    namespace,
    image: dataSyncImageName({ workspaceId, version, vm: vm.name }),
    settings: imageSpecOf(spec.spec, vm),
  }))
}
