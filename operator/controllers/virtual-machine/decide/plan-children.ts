import {
  ANNOTATIONS,
  cloudInitFingerprint,
  cloudInitHash,
  compareQuantities,
  LABELS,
  renderCloneDataVolume,
  renderCloudInitSecret,
  renderKubeVirtVirtualMachine,
  uuidFrom,
  type VirtualMachineStatus,
  withMacAddresses,
} from '@open-terrain/constructs'
import type { ImageView } from '../../../images/image-view.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { withoutUndefined } from '../../../runtime/conditions.ts'
import type { MachineWorld } from '../world.ts'
import { isSameSize, type MachineDraft } from './machine-plan.ts'
import { type ImageState, imageKeyOf } from './plan-image.ts'
import { runStrategyOf } from './plan-off.ts'

/** How CDI makes a clone, on its DataVolume. */
export const CLONE_TYPE = 'cdi.kubevirt.io/cloneType'

type CloneStatus = NonNullable<VirtualMachineStatus['clone']>
type Wants = Pick<CloneStatus, 'image' | 'diskSize' | 'generation'>

/** What the spec says about the disk, written down when it is made. */
export function wantsOf({ world, spec }: MachineDraft): Wants {
  const { generation } = world.vm.metadata
  return withoutUndefined({ image: keyOf(imageKeyOf(world, spec)), diskSize: spec.resources.diskSize, generation })
}

/** Fields of the spec that say something else about the disk than when it was made. */
export function changedSince(made: CloneStatus | undefined, wants: Wants): string[] {
  if (made?.image === undefined) return []
  return [
    ...(made.image === wants.image ? [] : ['vmDiskImageRef']),
    ...(isSameSize(made.diskSize, wants.diskSize) ? [] : ['resources.diskSize']),
  ]
}

/** Name of the StorageClass of a disk that is made from an image; undefined where nothing tells. */
export function storageClassOf(image: ImageView | undefined): string | undefined {
  const { artifact, defaults } = image?.status ?? {}
  const { storageClass } = (image?.spec ?? {}) as { readonly storageClass?: unknown }
  return artifact?.storageClass ?? (typeof storageClass === 'string' ? storageClass : defaults?.storageClass)
}

/**
 * Of the disk in an image, as people ask for it; undefined where that is not known. An artifact may be larger than was asked for. While
 * another revision is made, what is asked for is of that one: the artifact's own size counts then, unless it has CDI's overhead for a
 * file system in it.
 */
export function imageSizeOf(image: ImageView | undefined): string | undefined {
  const { artifact, defaults, revision } = image?.status ?? {}
  if (artifact !== undefined && artifact.revision !== revision)
    return artifact.volumeMode === 'Filesystem' ? undefined : artifact.restoreSize
  const { diskSize = defaults?.diskSize } = (image?.spec ?? {}) as { readonly diskSize?: unknown }
  const asked = diskSize === undefined ? undefined : String(diskSize)
  const has = artifact?.restoreSize
  if (asked === undefined || has === undefined) return asked ?? has
  return (compareQuantities(asked, has) ?? 1) < 0 ? asked : has
}

/** The disk as it should be. */
export function wantedClone({ world, spec }: MachineDraft, { image, artifact }: ImageState & { kind: 'ready' }) {
  return renderCloneDataVolume({
    vm: refOf(world),
    artifact,
    imageNamespace: image.metadata.namespace ?? '',
    storageClass: storageClassOf(image),
    diskSize: spec.resources.diskSize,
    imageSize: imageSizeOf(image),
  })
}

/** The Secret as it should be, unless it is. */
export function wantedSecret(world: MachineWorld): KubeObject[] {
  const { cloudInit, secret } = world
  if (cloudInit.kind !== 'rendered') return []
  const has = secret?.metadata.annotations?.[ANNOTATIONS.cloudInit]
  if (has === cloudInitHash(cloudInit.data)) return []
  return [renderCloudInitSecret({ vm: refOf(world), data: cloudInit.data })]
}

/** KubeVirt's machine as it should be. */
export function wantedMachine({ world, spec }: MachineDraft) {
  const { vm, cloudInit, secret, machine, claim } = world
  const ref = refOf(world)
  const hash =
    cloudInit.kind === 'rendered'
      ? cloudInitHash(cloudInit.data)
      : secret?.metadata.annotations?.[ANNOTATIONS.cloudInit]
  return renderKubeVirtVirtualMachine({
    vm: ref,
    hostname: spec.name ?? vm.metadata.name,
    runStrategy: runStrategyOf(world),
    // Of the disk as long as that lasts: cloud-init takes another one for another machine, and sets it up again.
    firmwareUuid: machine?.firmwareUuid ?? uuidFrom([ref.uid, claim?.metadata.uid]),
    cpu: spec.resources.cpu,
    memory: spec.resources.memory,
    version: spec,
    workspace: vm.metadata.labels?.[LABELS.workspace],
    nodeGroup: spec.nodeGroup,
    interfaces: withMacAddresses(ref.uid, ref.name, spec.interfaces ?? []),
    cloudInit: {
      fingerprint: cloudInitFingerprint(secret?.metadata.uid ?? '', hash ?? ''),
      hasNetworkData: (spec.interfaces ?? []).length > 0,
    },
  })
}

function refOf({ vm: { metadata } }: MachineWorld) {
  return { name: metadata.name, namespace: metadata.namespace ?? '', uid: metadata.uid ?? '' }
}
