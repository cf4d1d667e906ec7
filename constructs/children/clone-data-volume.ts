import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { compareQuantities } from '../api/quantity.ts'
import type { Artifact } from '../api/vm-disk-image.ts'
import { DELETE_AFTER_COMPLETION, MESH_INJECT } from './data-volume.ts'
import type { ImageChild } from './image-child.ts'
import { render } from './render.ts'
import { type VMRef, vmChildMetadata, vmChildNames } from './virtual-machine-child.ts'

export interface CloneDataVolumeProps {
  readonly vm: VMRef
  /** What is cloned, as the image's status has it. */
  readonly artifact: Pick<Artifact, 'kind' | 'name' | 'restoreSize' | 'volumeMode' | 'accessModes'>
  /** Namespace of the image, where the artifact is. */
  readonly imageNamespace: string
  /** Class of the image's own volume: another driver would copy every byte. Absent: the cluster's default class. */
  readonly storageClass?: string
  /** Size that the machine asks for, as a quantity. */
  readonly diskSize?: string
  /** Size of the disk in the image, as people ask for it: the artifact may be larger, by CDI's overhead for a file system or to the next step of the driver. */
  readonly imageSize?: string
}

interface ObjectInNamespace {
  readonly namespace: string
  readonly name: string
}

export interface CloneDataVolumeSpec {
  readonly contentType: 'kubevirt'
  readonly source: { readonly snapshot: ObjectInNamespace } | { readonly pvc: ObjectInNamespace }
  readonly storage: {
    readonly storageClassName?: string
    readonly volumeMode?: string
    readonly accessModes?: readonly string[]
    readonly resources?: { readonly requests: { readonly storage: string } }
  }
}

export type CloneDataVolumeObject = ImageChild<'DataVolume', CloneDataVolumeSpec>

/**
 * The root disk of a machine. It must have the volume mode of what it is cloned from. It does not ask to be bound at once: the
 * machine's pod chooses the zone.
 */
export class CloneDataVolume extends ApiObject {
  constructor(scope: Construct, id: string, props: CloneDataVolumeProps) {
    super(scope, id, {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: vmChildMetadata({
        vm: props.vm,
        name: vmChildNames(props.vm.name).clone,
        annotations: { [DELETE_AFTER_COMPLETION]: 'false', [MESH_INJECT]: 'false' },
      }),
      spec: cloneSpec(props),
    })
  }
}

export function renderCloneDataVolume(props: CloneDataVolumeProps): CloneDataVolumeObject {
  const [object] = render((chart) => new CloneDataVolume(chart, 'DataVolume', props))
  return object as CloneDataVolumeObject
}

/**
 * The size to ask for, or undefined to leave it to CDI, which then takes the artifact's own: it refuses less than that, and the
 * text of an equal size may differ. More than the image has, but less than its artifact, is made more than either: to what is asked for
 * CDI adds its overhead again. All are quantities; an artifact of unknown size gets what is requested.
 */
export function cloneSize(
  requested: string | undefined,
  restoreSize: string | undefined,
  imageSize: string | undefined = restoreSize,
): string | undefined {
  if (requested === undefined || restoreSize === undefined) return requested
  if ((compareQuantities(requested, restoreSize) ?? 1) > 0) return requested
  return (compareQuantities(requested, imageSize ?? restoreSize) ?? 0) > 0 ? restoreSize : undefined
}

function cloneSpec(props: CloneDataVolumeProps): CloneDataVolumeSpec {
  const { artifact, imageNamespace, storageClass, diskSize, imageSize } = props
  const { volumeMode, accessModes } = artifact
  const object = { namespace: imageNamespace, name: artifact.name }
  const size = cloneSize(diskSize, artifact.restoreSize, imageSize)
  return {
    contentType: 'kubevirt',
    source: artifact.kind === 'VolumeSnapshot' ? { snapshot: object } : { pvc: object },
    storage: {
      storageClassName: storageClass,
      volumeMode,
      accessModes: accessModes?.length ? accessModes : undefined,
      resources: size === undefined ? undefined : { requests: { storage: size } },
    },
  }
}
