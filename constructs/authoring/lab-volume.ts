import type { Size } from 'cdk8s'
import { Construct } from 'constructs'
import { quantityOf } from './quantity-of.ts'
import type { WorkspaceSpecInput } from './spec-props.ts'

type VolumeSpec = NonNullable<WorkspaceSpecInput['volumes']>[number]

export interface LabVolumeProps {
  /** Size of the volume: a quantity such as 1Gi, bytes, or a Size. */
  readonly size: Size | string | number
  /** Where the policy key localVolumeRoot is set: folder of the volume on its node, such as /config. Default: none. */
  readonly localPath?: string
}

export interface MountOptions {
  /** True: the container cannot write to it. Default: false. */
  readonly readOnly?: boolean
  /** Folder or file of the volume that is there instead of all of it, such as db/data. Default: all. */
  readonly subPath?: string
}

/** A volume at a path of a container. Made by `at` of a volume. */
export interface LabMount extends MountOptions {
  readonly name: string
  readonly containerPath: string
}

/** A volume of a lab. Made by `Workspace.addVolume`. */
export class LabVolume extends Construct {
  readonly volumeName: string
  readonly #props: LabVolumeProps

  constructor(scope: Construct, volumeName: string, props: LabVolumeProps) {
    super(scope, `volumes.${volumeName}`)
    this.volumeName = volumeName
    this.#props = props
  }

  /** Returns the volume at a path of a container, such as /config. */
  at(containerPath: string, options: MountOptions = {}): LabMount {
    return { name: this.volumeName, containerPath, ...options }
  }

  toSpec(): VolumeSpec {
    const { size, localPath } = this.#props
    return { name: this.volumeName, size: quantityOf(size), ...(localPath !== undefined && { localPath }) }
  }
}
