import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { dataSync, parseDataSyncSpec } from '../api/data-sync.ts'
import { objectName } from '../api/shared.ts'
import { AuthoredObject } from './checked-spec.ts'
import type { DataSyncSpecInput } from './spec-props.ts'

/** The disk images that a workspace needs: the fields of the spec of a DataSync, beside the metadata. */
export interface DataSyncProps extends DataSyncSpecInput {
  /** `name` is required. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/** The disk images of one version of a workspace. Throws at synth, naming field and fix, if the API server would refuse the object. */
export class DataSync extends AuthoredObject {
  constructor(scope: Construct, id: string, props: DataSyncProps) {
    super(scope, id, { resource: dataSync, name: objectName(), parse: parseDataSyncSpec }, props)
  }
}
