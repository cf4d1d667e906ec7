import { compareQuantities, type VirtualMachineSpec, type warningsOf } from '@open-terrain/constructs'
import type { MachineWorld } from '../world.ts'
import { CLONE_TYPE, storageClassOf } from './plan-children.ts'

/**
 * Warns that a disk is to be larger than its image although volumes cannot grow: CDI does not fail then, it copies every byte. The warning
 * is shown from before the copy begins until the disk is complete. Returns an empty list if a size or the StorageClass is unknown.
 * @param imageSize size of the disk in the image, as a quantity
 */
export function expansionWarnings(
  world: MachineWorld,
  spec: VirtualMachineSpec,
  imageSize: string | undefined,
): ReturnType<typeof warningsOf> {
  const { image, storageClass } = world
  const { diskSize } = spec.resources
  const { restoreSize, volumeMode } = image?.status.artifact ?? {}
  // With a file system, CDI adds its overhead to the requested size. The artifact's size includes it already.
  const size = volumeMode === 'Filesystem' ? imageSize : (restoreSize ?? imageSize)
  if (diskSize === undefined || size === undefined || storageClass?.allowVolumeExpansion !== false) return []
  if ((compareQuantities(diskSize, size) ?? 0) <= 0 || !isToBeCloned(world, spec)) return []
  const name = storageClassOf(image)
  const message = `resources.diskSize asks for more (${diskSize}) than its image has (${size}), and StorageClass ${name} does not allow volumes to grow: CDI copies the whole disk instead of cloning it, which takes longer; ask for no more than ${size}, give the image that diskSize, or set allowVolumeExpansion on the StorageClass`
  return [{ reason: 'NoVolumeExpansion', message }]
}

function isToBeCloned({ clone, claim }: MachineWorld, spec: VirtualMachineSpec): boolean {
  if (spec.ignoreOnDeploy === true) return false
  if (clone === undefined) return claim === undefined
  // CDI decides once, and records the decision in the annotation.
  const type = clone.metadata.annotations?.[CLONE_TYPE] ?? 'copy'
  return clone.phase !== 'Succeeded' && type === 'copy'
}
