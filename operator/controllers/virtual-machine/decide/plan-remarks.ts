import { LABELS } from '@open-terrain/constructs'
import {
  compareQuantities,
  guestHostsHash,
  replacedBy,
  type VirtualMachineSpec,
  warningsOf,
} from '@open-terrain/constructs/operator'
import { firstFew } from '../../../base/messages.ts'
import { whoMade } from '../../../images/decide/image-creator.ts'
import { isOtherContent, mismatches } from '../../../images/decide/image-meaning.ts'
import type { KubeVirtView } from '../kubevirt-views.ts'
import type { MachineWorld } from '../world.ts'
import { warningsOnDisks } from './further-disks.ts'
import { overridesOf, refusedOverride } from './machine-overrides.ts'
import type { MachineDraft, Step } from './machine-plan.ts'
import {
  CLONE_TYPE,
  changedSince,
  guestHosts,
  imageSizeOf,
  renderedMachine,
  storageClassOf,
  wantsOf,
  writtenHosts,
} from './plan-children.ts'
import type { Remark } from './status.ts'

const REBUILD = 'undo it, or delete the VirtualMachine and create it again, which loses the data on its disk'

/** Returns what people should know about a valid spec. */
export function remarksOnSpec(draft: MachineDraft, { apply = [] }: Step): Remark[] {
  const { world, spec } = draft
  const { image } = world
  const imageSize = imageSizeOf(image)
  const { warnings: ofUserData = [], lacking } = world.cloudInit.kind === 'rendered' ? world.cloudInit : {}
  const warnings = [
    ...ofUserData,
    ...warningsOf(spec, imageSize),
    ...expansionWarnings(world, spec, imageSize),
    ...warningsOnDisks(world),
    ...smallDisks(world),
    ...overrideWarnings(draft),
    // Last: the first one is the reason, and an upgrade changes that of no machine that has one.
    ...(lacking === undefined ? [] : [lacking]),
  ]
  const { vmDiskImageTemplate: template } = spec
  const isCorrected = apply.some(({ kind }) => kind === image?.kind)
  const differing =
    template === undefined || image === undefined || isCorrected ? [] : mismatches(template, image, world.policy)
  const remarks: Remark[] = []
  const [first] = warnings
  if (first !== undefined) {
    const message = warnings.map((one) => one.message).join('; ')
    remarks.push({ type: 'SpecWarning', reason: first.reason, message, count: warnings.length })
  }
  if (differing.length > 0 && image !== undefined) {
    const message = `the image differs from the template in ${differing.join(', ')}, and ${whoMade(image)}; the image is used as it is: correct spec.vmDiskImageTemplate, or name another image`
    const isAside = !isOtherContent(differing)
    remarks.push({ type: 'ImageMismatch', reason: 'ImageMismatch', message, ...(isAside && { isAside }) })
  }
  return remarks
}

/** Paths that are named; more are only counted. */
const OVERRIDES_SHOWN = 10

function overrideWarnings(draft: MachineDraft): ReturnType<typeof warningsOf> {
  if (draft.spec.overrides === undefined || refusedOverride(draft) !== undefined) return []
  const read = overridesOf(draft.spec)
  const paths = read.ok ? replacedBy(renderedMachine(draft).spec, read.values) : []
  if (paths.length === 0) return []
  const message = `spec.overrides replaces what the rest of the spec says: ${firstFew(paths, OVERRIDES_SHOWN)}`
  return [{ reason: 'Overridden' as const, message }]
}

/** The same of the disks beside the root disk as of the root disk itself. */
function smallDisks({ disks }: MachineWorld): ReturnType<typeof warningsOf> {
  return disks.flatMap(({ spec: { name, size }, ofImage }) => {
    const imageSize = ofImage && imageSizeOf(ofImage.image)
    if (size === undefined || imageSize === undefined || (compareQuantities(size, imageSize) ?? 0) >= 0) return []
    const message = `disk ${name} gets ${imageSize}, the size of its image: spec.disks asks for less (${size})`
    return [{ reason: 'DiskSmallerThanImage' as const, message }]
  })
}

/**
 * Warns that a disk is to be larger than its image although volumes cannot grow: CDI does not fail then, it copies every byte. The warning
 * is shown from before the copy begins until the disk is complete. Returns an empty list if a size or the StorageClass is unknown.
 */
function expansionWarnings(
  world: MachineWorld,
  spec: VirtualMachineSpec,
  imageSize: string | undefined,
): ReturnType<typeof warningsOf> {
  const { image, storageClass } = world
  const { diskSize } = spec.resources ?? {}
  const { restoreSize, volumeMode } = image?.status.artifact ?? {}
  // With a file system, CDI adds its overhead to the requested size. The artifact's size includes it already.
  const size = volumeMode === 'Filesystem' ? imageSize : (restoreSize ?? imageSize)
  if (diskSize === undefined || size === undefined || storageClass?.allowVolumeExpansion !== false) return []
  if ((compareQuantities(diskSize, size) ?? 0) <= 0 || !isToBeCloned(world, spec)) return []
  const name = storageClassOf(image)
  const message = `resources.diskSize asks for more (${diskSize}) than its image has (${readable(size)}), and StorageClass ${name} does not allow volumes to grow: CDI copies the whole disk instead of cloning it, which takes longer; ask for no more than ${readable(size)}, give the image that diskSize, or set allowVolumeExpansion on the StorageClass`
  return [{ reason: 'NoVolumeExpansion', message }]
}

function isToBeCloned({ clone, claim }: MachineWorld, spec: VirtualMachineSpec): boolean {
  if (spec.ignoreOnDeploy === true) return false
  if (clone === undefined) return claim === undefined
  // CDI decides once, and records the decision in the annotation.
  const type = clone.metadata.annotations?.[CLONE_TYPE] ?? 'copy'
  return clone.phase !== 'Succeeded' && type === 'copy'
}

function changeThatWaits(name: string, { restartRequired, migrationRequired }: KubeVirtView): string | undefined {
  if (restartRequired !== '')
    return `a change of the spec waits for a restart (virtctl restart ${name}): ${restartRequired}`
  if (migrationRequired === '') return undefined
  return `a change of the spec waits for a migration or a restart (virtctl migrate ${name}, or virtctl restart ${name}): ${migrationRequired}`
}

/** Returns a size that is given in bytes in mebibytes, rounded down: what is asked for by it never exceeds it. */
function readable(size: string): string {
  return /^\d{7,}$/.test(size) ? `${Math.floor(Number(size) / 2 ** 20)}Mi` : size
}

/**
 * The instance has the hash of what was on its drive when it was made, or of what was there shortly before. The drive of the next one is made from the
 * Secret: no restart helps before that has the names.
 */
function staleNames(world: MachineWorld): string | undefined {
  const { vm, instance, cloudInit } = world
  const wanted = guestHostsHash(guestHosts(world))
  if (instance === undefined || instance.metadata.labels?.[LABELS.hosts] === wanted) return undefined
  const changed = 'spec.hostAliases changed after the guest was started'
  if (writtenHosts(world) !== wanted) {
    const why = cloudInit.kind === 'missing' ? `cannot be written yet: ${cloudInit.message}` : 'are being written'
    return `${changed}, and the names of now ${why}`
  }
  const { namespace, name } = vm.metadata
  return `${changed}: its /etc/hosts has the names of then, until it is restarted (virtctl restart -n ${namespace} ${name})`
}

/** What the operator wants of the machine, beside the spec. */
interface WantedRun {
  /** Of the cloud-init data of the first start. */
  readonly specHash?: string | undefined
  /** Of the desired cloud-init data. */
  readonly fingerprint?: string | undefined
  /** Whether KubeVirt's machine cannot be changed any more, so that no instance ever has the hash of the names of now. */
  readonly isTooLarge?: boolean
}

/** Returns what people should know about a machine and its disk. */
export function remarksOnRun(draft: MachineDraft, { specHash, fingerprint, isTooLarge }: WantedRun): Remark[] {
  const { vm, machine, clone } = draft.world
  const remarks: Remark[] = []
  if (clone?.metadata.annotations?.[CLONE_TYPE] === 'copy') {
    const message = `CDI copied the disk, or copies it, instead of cloning it: see the events of DataVolume ${clone.metadata.name}, and whether the storage class and driver of image and disk are the same and can clone or restore snapshots`
    remarks.push({ type: 'FullCopy', reason: 'FullCopy', message })
  }
  const waits = machine && changeThatWaits(vm.metadata.name, machine)
  if (waits !== undefined) remarks.push({ type: 'RestartRequired', reason: 'RestartRequired', message: waits })
  const names = isTooLarge === true ? undefined : staleNames(draft.world)
  if (names !== undefined) remarks.push({ type: 'NamesNotCurrent', reason: 'NamesNotCurrent', message: names })
  const rebuild = changedSince(vm.status.clone, wantsOf(draft)).map(
    (field) => `${field} changed after the disk was made: the change needs a new disk`,
  )
  if (specHash !== undefined && specHash !== fingerprint)
    rebuild.unshift(
      'spec.users (or a password in its Secret), spec.userData (or its Secret), spec.name or spec.interfaces changed after the first start: the guest has read the old values, so the change needs a new disk',
    )
  if (rebuild.length > 0)
    remarks.push({ type: 'RebuildRequired', reason: 'RebuildRequired', message: `${rebuild.join('; ')}; ${REBUILD}` })
  return remarks
}
