import type { Size } from 'cdk8s'
import { Construct } from 'constructs'
import { requireProps } from './given-values.ts'
import { keepInside, type PartInside } from './inside.ts'
import { idOfPart, joinLab, takenFrom } from './lab-part.ts'
import { quantityOf } from './plain-values.ts'
import type { WorkspaceVolumeProps } from './spec-props.ts'

/** What a volume of a lab is. */
export interface LabVolumeProps {
  /** Size of the volume: a quantity such as 1Gi, a number of bytes, or a Size. */
  readonly size: Size | string | number
  /** Where the policy key localVolumeRoot is set: folder of the volume on its node, such as /config. Default: none. */
  readonly localPath?: string
}

/** What else may be said of a volume in a container. */
export interface MountOptions {
  /** True: the container cannot write to it. Default: false. */
  readonly readOnly?: boolean
  /** Folder or file of the volume that is there instead of all of it, such as db/data. Default: all. */
  readonly subPath?: string
}

/** A volume at a path of a container. Made by `at` of a volume. */
export interface LabMount extends MountOptions {
  /** Name of the volume in the lab, such as config. */
  readonly name: string
  /** Absolute path in the container, such as /config. */
  readonly containerPath: string
}

/**
 * A volume of a lab. Made by `Workspace.addVolume`, or in a construct below the lab.
 * @example
 * ```ts
 * import { Workspace } from '@open-terrain/constructs'
 * import { Size } from 'cdk8s'
 *
 * const lab = new Workspace(chart, 'redblue')
 * const config = lab.addVolume('config', { size: Size.gibibytes(1) })
 * const mounts = [config.at('/config', { readOnly: true })]
 * lab.addContainers('dns').add('bind', { image: 'registry.example.com/bind:9.20', mounts })
 * ```
 */
export class LabVolume extends Construct {
  /** Name of the volume in the lab. */
  readonly volumeName: string
  readonly #props: LabVolumeProps

  constructor(scope: Construct, volumeName: string, props: LabVolumeProps) {
    super(scope, idOfPart(scope, 'volumes', volumeName, new.target))
    this.volumeName = volumeName
    requireProps(this, props, "{ size: '1Gi' }")
    this.#props = props
    const inside: PartInside = { toSpec: () => this.#toSpec() }
    keepInside(this, inside)
    joinLab(this, 'volumes', new.target)
  }

  /** Returns the volume at a path of a container, such as /config. */
  at(containerPath: string, options: MountOptions = {}): LabMount {
    return takenFrom(this, { name: this.volumeName, containerPath, ...options })
  }

  #toSpec(): WorkspaceVolumeProps {
    const { size, localPath } = this.#props
    return { name: this.volumeName, size: quantityOf(size), ...(localPath !== undefined && { localPath }) }
  }
}
