import { ApiObject, type ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { objectName } from '../api/shared.ts'
import { parseVMDiskImageSpec, type VMDiskImageSpecInput, vmDiskImage } from '../api/vm-disk-image.ts'
import { checkedProps } from './checked-spec.ts'

export interface VMDiskImageProps extends VMDiskImageSpecInput {
  /** `name` is needed: it is what virtual machines and workspaces refer to. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/** A disk image that the cluster keeps. Throws at synth, naming field and fix, on what the API server would refuse. */
export class VMDiskImage extends ApiObject {
  constructor(scope: Construct, id: string, props: VMDiskImageProps) {
    const place = `${scope.node.path}/${id}`
    const { apiVersion, kind, spec: schema } = vmDiskImage
    const authored = { place, kind, schema, name: objectName(), parse: parseVMDiskImageSpec }
    super(scope, id, { apiVersion, kind, ...checkedProps(authored, props) })
  }
}
