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
  /** From `diskClaimName`. Default: the root disk. */
  readonly name?: string
  /** The artifact to clone, as in the status of the image. */
  readonly artifact: Pick<Artifact, 'kind' | 'name' | 'restoreSize' | 'volumeMode' | 'accessModes'>
  /** Namespace of the image, where the artifact is. */
  readonly imageNamespace: string
  /** Class of the image's own volume: another driver would copy every byte. If absent, the default class of the cluster. */
  readonly storageClass?: string
  /** Size that the machine requests, as a quantity. */
  readonly diskSize?: string
  /** Size of the image's disk as people request it. The artifact may be larger: by the file system overhead of CDI, or rounded up by the driver. */
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
 * The root disk of a machine, or another one that is cloned from an image. It must have the volume mode of its source. It does not request immediate
 * binding: the pod of the machine determines the zone.
 */
export class CloneDataVolume extends ApiObject {
  constructor(scope: Construct, id: string, props: CloneDataVolumeProps) {
    super(scope, id, {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: vmChildMetadata({
        vm: props.vm,
        name: props.name ?? vmChildNames(props.vm.name).clone,
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
 * Returns the size to request, or undefined to let CDI use the size of the artifact: CDI refuses less, and an equal size may be written differently.
 * A size above that of the image, but not above that of its artifact, becomes that of the artifact. The disk is then larger than both, because CDI
 * adds its overhead to the request again. All sizes are quantities. If the size of the artifact is unknown, returns the requested one.
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
