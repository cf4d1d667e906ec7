import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { objectName } from '../api/shared.ts'
import { parseVMDiskImageSpec, vmDiskImage } from '../api/vm-disk-image.ts'
import { AuthoredObject, writtenSpecOf } from './checked-spec.ts'
import { addKindWords } from './kind-words.ts'
import { namedBy } from './named-by.ts'
import type { AuthoredImage } from './node-problems.ts'
import type { VMDiskImageSpecInput } from './spec-props.ts'

/** What image is wanted: the fields of the spec of a VMDiskImage, beside the metadata. */
export interface VMDiskImageProps extends VMDiskImageSpecInput {
  /** Default: the name is the id of the construct. Virtual machines and workspaces refer to it. */
  readonly metadata?: ApiObjectMetadata
}

/**
 * A disk image that the cluster keeps. Throws at synth, naming field and fix, if the API server would refuse the object.
 * @example
 * ```ts
 * import { VMDiskImage } from '@open-terrain/constructs'
 *
 * new VMDiskImage(chart, 'debian', {
 *   metadata: { name: 'debian-13', namespace: 'vmdi-farm' },
 *   url: 'https://images.example.com/debian-13.qcow2',
 *   sourceType: 'http',
 *   diskSize: '10Gi',
 * })
 * ```
 */
export class VMDiskImage extends AuthoredObject {
  constructor(scope: Construct, id: string, props: VMDiskImageProps) {
    super(scope, id, { resource: vmDiskImage, name: objectName(), parse: parseVMDiskImageSpec }, namedBy(id, props))
    addKindWords(this, { authoredImages: () => this.#images() })
  }

  /** Returns an image that is made elsewhere, as machines refer to it. */
  static fromName(imageName: string): { readonly imageName: string } {
    return { imageName }
  }

  /** Its name, as machines refer to it. */
  get imageName(): string {
    return this.name
  }

  /** Its namespace; undefined if only who applies it says. */
  get imageNamespace(): string | undefined {
    return this.metadata.namespace
  }

  #images(): readonly AuthoredImage[] {
    const settings = writtenSpecOf(this)
    if (typeof settings !== 'object' || settings === null) return []
    return [{ namespace: this.metadata.namespace, image: this.name, settings }]
  }
}
