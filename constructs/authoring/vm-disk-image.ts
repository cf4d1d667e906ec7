import { ApiObject, type ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { objectName } from '../api/shared.ts'
import { parseVMDiskImageSpec, type VMDiskImageSpecInput, vmDiskImage } from '../api/vm-disk-image.ts'
import { checkedSpec } from './checked-spec.ts'

export interface VMDiskImageProps extends VMDiskImageSpecInput {
  /** `name` is needed: it is what virtual machines and workspaces refer to. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/** A disk image that the cluster keeps. Throws at synth, naming field and fix, on what the API server would refuse. */
export class VMDiskImage extends ApiObject {
  constructor(scope: Construct, id: string, { metadata, ...written }: VMDiskImageProps) {
    const place = `${scope.node.path}/${id}`
    if (!objectName().safeParse(metadata.name).success) {
      throw new Error(
        `${place}: metadata.name: ${JSON.stringify(metadata.name)} must be lower-case letters, digits, "-" and "."`,
      )
    }
    const { apiVersion, kind, spec: schema } = vmDiskImage
    const spec = checkedSpec({ place, kind, schema, spec: written, parsed: parseVMDiskImageSpec(written) })
    super(scope, id, { apiVersion, kind, metadata, spec })
  }
}
