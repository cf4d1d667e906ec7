import { ApiObject, type ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { objectName } from '../api/shared.ts'
import { parseVMDiskImageSpec, type VMDiskImageSpecInput, vmDiskImage } from '../api/vm-disk-image.ts'

export interface VMDiskImageProps extends VMDiskImageSpecInput {
  /** `name` is needed: it is what virtual machines and workspaces refer to. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/** A disk image that the cluster keeps. Throws at synth, naming field and fix, on what the API server would refuse. */
export class VMDiskImage extends ApiObject {
  constructor(scope: Construct, id: string, { metadata, ...spec }: VMDiskImageProps) {
    const place = `${scope.node.path}/${id}`
    if (!objectName().safeParse(metadata.name).success) {
      throw new Error(
        `${place}: metadata.name: ${JSON.stringify(metadata.name)} must be lower-case letters, digits, "-" and "."`,
      )
    }
    const parsed = parseVMDiskImageSpec(spec)
    if (!parsed.ok) {
      const lines = parsed.problems.map(({ path, message }) => `${path}: ${message}`)
      throw new Error(`${place}: the VMDiskImage is not valid\n  ${lines.join('\n  ')}`)
    }
    const unknown = Object.keys(spec).filter((field) => !Object.hasOwn(vmDiskImage.spec.shape, field))
    if (unknown.length > 0)
      throw new Error(`${place}: spec has no field ${unknown.join(', ')}; remove it or correct its spelling`)
    super(scope, id, { apiVersion: vmDiskImage.apiVersion, kind: vmDiskImage.kind, metadata, spec: parsed.spec })
  }
}
