import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  cloudInitFingerprint,
  cloudInitHash,
  compareQuantities,
  type FieldsFromSpec,
  fieldsFromSpec,
  guestHostsHash,
  hardwareOf,
  isWindows,
  type KubeVirtVirtualMachineObject,
  type MaybeFromSpec,
  matchersOf,
  namesFromSpec,
  overrideSteps,
  renderCloneDataVolume,
  renderCloudInitSecret,
  renderDiskClaim,
  renderKubeVirtVirtualMachine,
  uuidFrom,
  type VirtualMachineSpec,
  type VirtualMachineStatus,
  withMacAddresses,
  withoutValues,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { isSameValue } from '../../../images/decide/image-meaning.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import type { KubeVirtView } from '../kubevirt-views.ts'
import type { MachineWorld } from '../world.ts'
import { guestDisks, isMade, isToBeCloned } from './further-disks.ts'
import { withMachineOverrides } from './machine-overrides.ts'
import { hasBooted, type MachineDraft, runStrategyOf } from './machine-plan.ts'
import { withExpansion } from './plan-expanded.ts'
import { artifactOf, type ImageState, imageKeyOf } from './plan-image.ts'

/** Annotation on the DataVolume of a clone: how CDI makes it. */
export const CLONE_TYPE = 'cdi.kubevirt.io/cloneType'

type CloneStatus = NonNullable<VirtualMachineStatus['clone']>
type Wants = Pick<CloneStatus, 'image' | 'diskSize' | 'generation'>

/** Returns what the spec says about the disk. It is recorded when the disk is made. */
export function wantsOf({ world, spec }: Pick<MachineDraft, 'world' | 'spec'>): Wants {
  const { generation } = world.vm.metadata
  return withoutUndefined({ image: keyOf(imageKeyOf(world, spec)), diskSize: spec.resources?.diskSize, generation })
}

/** Returns what is recorded of a root disk when it is made. */
export function cloneRecord(
  draft: MachineDraft,
  { image, artifact }: ImageState & { kind: 'ready' },
  name: string,
): CloneStatus {
  const [sourceRevision, imageUID] = [artifact.revision, image.metadata.uid]
  return withoutUndefined({ name, ...wantsOf(draft), sourceRevision, imageUID }) as CloneStatus
}

/** Returns the fields of the spec about the disk that have changed since it was made. */
export function changedSince(made: CloneStatus | undefined, wants: Wants): string[] {
  if (made?.image === undefined) return []
  return [
    ...(made.image === wants.image ? [] : ['vmDiskImageRef']),
    ...(isSameValue(made.diskSize, wants.diskSize) ? [] : ['resources.diskSize']),
  ]
}

/** Returns the name of the StorageClass of a disk made from an image; undefined if unknown. */
export function storageClassOf(image: ImageView | undefined): string | undefined {
  const { artifact, defaults } = image?.status ?? {}
  const { storageClass } = (image?.spec ?? {}) as { readonly storageClass?: unknown }
  return artifact?.storageClass ?? (typeof storageClass === 'string' ? storageClass : defaults?.storageClass)
}

/**
 * Returns the size of the disk in an image, as people request it; undefined if unknown. An artifact may be larger than requested. While
 * another revision is being made, the requested size is that of the new revision: then the artifact's own size counts, unless it includes
 * CDI's overhead for a file system.
 */
export function imageSizeOf(image: ImageView | undefined): string | undefined {
  const { artifact, defaults, revision } = image?.status ?? {}
  if (artifact !== undefined && artifact.revision !== revision)
    return artifact.volumeMode === 'Filesystem' ? undefined : artifact.restoreSize
  const { diskSize = defaults?.diskSize } = (image?.spec ?? {}) as { readonly diskSize?: unknown }
  const requested = diskSize === undefined ? undefined : String(diskSize)
  const has = artifact?.restoreSize
  if (requested === undefined || has === undefined) return requested ?? has
  return (compareQuantities(requested, has) ?? 1) < 0 ? requested : has
}

/** Returns a root disk as wanted. */
export function wantedClone(
  { world, spec }: MachineDraft,
  { image, artifact }: ImageState & { kind: 'ready' },
  name: string = world.rootName,
) {
  return renderCloneDataVolume({
    vm: refOf(world),
    name,
    artifact,
    imageNamespace: image.metadata.namespace ?? '',
    storageClass: storageClassOf(image),
    diskSize: spec.resources?.diskSize,
    imageSize: imageSizeOf(image),
  })
}

/** Returns the clones of disks beside the root disk that do not exist, and whose images can be cloned. Whoever calls it has checked that none is lost. */
export function wantedDiskClones(world: MachineWorld): KubeObject[] {
  return world.disks.flatMap((disk) => {
    const { image } = disk.ofImage ?? {}
    const artifact = artifactOf(image)
    if (image === undefined || artifact === undefined || !isToBeCloned(disk) || !disk.ofImage?.hasCloneSource) return []
    return [
      renderCloneDataVolume({
        vm: refOf(world),
        name: disk.ownClaim,
        artifact,
        imageNamespace: image.metadata.namespace ?? '',
        storageClass: storageClassOf(image),
        diskSize: disk.spec.size,
        imageSize: imageSizeOf(image),
      }),
    ]
  })
}

/** Returns the host names that the guest is to have. */
export function guestHosts({ spec }: Pick<MachineWorld, 'spec'>): VirtualMachineSpec['hostAliases'] {
  return spec.ok && !isWindows(spec.spec) ? spec.spec.hostAliases : undefined
}

/** Returns the desired Secret; empty if it is up to date, or its data cannot be rendered. */
export function wantedSecret(world: MachineWorld): KubeObject[] {
  const { cloudInit, secret } = world
  if (cloudInit.kind !== 'rendered') return []
  const hostAliases = guestHosts(world)
  const { data } = cloudInit
  const has = secret?.metadata.annotations
  const isSameData = has?.[ANNOTATIONS.cloudInit] === cloudInitHash(data)
  if (isSameData && writtenHosts(world) === guestHostsHash(hostAliases)) return []
  const hasHostsAnnotation = has?.[ANNOTATIONS.hosts] !== undefined
  return [renderCloudInitSecret({ vm: refOf(world), data, hostAliases, hasHostsAnnotation })]
}

/** Returns the hash of the host names in the Secret; undefined if it has none. An empty annotation is what is left of those that were taken away. */
export function writtenHosts({ secret }: Pick<MachineWorld, 'secret'>): string | undefined {
  return secret?.metadata.annotations?.[ANNOTATIONS.hosts] || undefined
}

/** Returns the claims of empty disks that do not exist. Whoever calls it has checked that none of them is lost. */
export function wantedClaims(world: MachineWorld): KubeObject[] {
  const { artifact } = world.image?.status ?? {}
  const storageClass = storageClassOf(world.image)
  return world.disks.flatMap((disk) => {
    const { name, size } = disk.spec
    if (!isMade(disk) || disk.ofImage !== undefined || disk.claim !== undefined || size === undefined) return []
    return [renderDiskClaim({ vm: refOf(world), disk: name, size, storageClass, artifact })]
  })
}

/** Returns KubeVirt's machine as wanted. Whoever calls it has checked that no override of the spec is refused. */
export function wantedMachine(draft: MachineDraft): KubeVirtVirtualMachineObject {
  return withMachineOverrides(renderedMachine(draft), draft.spec, draft.world.machine)
}

/** Returns what overrides are merged over. */
export function renderedMachine(draft: MachineDraft): KubeVirtVirtualMachineObject {
  const { world, spec } = draft
  const { vm, cloudInit, secret, machine, claim, restoredClaim } = world
  const ref = refOf(world)
  const hash =
    cloudInit.kind === 'rendered'
      ? cloudInitHash(cloudInit.data)
      : secret?.metadata.annotations?.[ANNOTATIONS.cloudInit]
  const matchers = matchersOf(spec, machine?.matchers)
  const fromSpec = fromSpecBeside(draft)
  const rendered = renderKubeVirtVirtualMachine({
    vm: ref,
    hostname: spec.name ?? vm.metadata.name,
    runStrategy: runStrategyOf(world),
    // The same for the lifetime of the disk: with another UUID, cloud-init takes the guest for a new machine and sets it up again.
    firmwareUuid: machine?.firmwareUuid ?? uuidFrom([ref.uid, claim?.metadata.uid]),
    cpu: spec.resources?.cpu,
    memory: spec.resources?.memory,
    graceSeconds: graceOf(fromSpec, machine, matchers.isExpanded),
    matchers,
    hasPreference: spec.preference !== undefined,
    os: spec.os,
    sysprepSecret: spec.sysprepSecretRef?.name,
    hardware: hardwareOf(
      spec,
      machine?.hardware,
      namesFromSpec(machine?.metadata.annotations?.[ANNOTATIONS.fieldsFromSpec]),
    ),
    fromSpec,
    rootDisk: world.rootName,
    restoredClaim,
    ...guestDisks(world),
    version: spec,
    workspace: vm.metadata.labels?.[LABELS.workspace],
    nodeGroup: spec.nodeGroup,
    interfaces: withMacAddresses(ref.uid, ref.name, spec.interfaces ?? []),
    givenMacAddresses: givenMacAddresses(spec, machine),
    cloudInit: {
      fingerprint: cloudInitFingerprint(secret?.metadata.uid ?? '', hash ?? ''),
      hasNetworkData: (spec.interfaces ?? []).length > 0,
      // Not those of the spec: the Secret may not be written yet.
      hosts: writtenHosts(world),
    },
  })
  return matchers.isExpanded ? withExpansion(rendered, machine && withoutOverrides(machine)) : rendered
}

/** Only where KubeVirt has put its preference into a machine, that has the time itself. */
function graceOf({ leavesGrace }: FieldsFromSpec, machine: KubeVirtView | undefined, isExpanded: boolean) {
  if (!leavesGrace) return undefined
  const { template } = ((machine && withoutOverrides(machine))?.spec ?? {}) as MachineTemplate
  return (isExpanded && template?.spec?.terminationGracePeriodSeconds) || null
}

/** What was overridden is no part of what an instance type or a preference gave the machine. */
function withoutOverrides(machine: KubeVirtView): KubeVirtView {
  const places = machine.overridden?.paths.flatMap((path) => [overrideSteps('vm', path) ?? []]) ?? []
  return places.length === 0 ? machine : { ...machine, spec: withoutValues(machine.spec, places) }
}

/** Returns the names to record; undefined if there never were any. */
function givenMacAddresses({ interfaces = [] }: VirtualMachineSpec, machine: KubeVirtView | undefined) {
  const names = interfaces.flatMap(({ network, macAddress }) => (macAddress === undefined ? [] : [network]))
  const isRecorded = machine?.metadata.annotations?.[ANNOTATIONS.givenMacAddresses] !== undefined
  return names.length > 0 || isRecorded ? names : undefined
}

interface MachineTemplate {
  readonly template?: {
    readonly spec?: MaybeFromSpec & { readonly terminationGracePeriodSeconds?: number }
  }
}

function fromSpecBeside({ world, spec }: MachineDraft): FieldsFromSpec {
  const { vm, machine } = world
  // Windows on a disk that has booted would find other processors.
  const hasSockets = hasBooted(world) && vm.status.kubevirt?.cores !== true
  if (machine === undefined) return fieldsFromSpec(spec, undefined, undefined, hasSockets)
  const { template } = machine.spec as MachineTemplate
  return fieldsFromSpec(spec, template?.spec ?? {}, machine.metadata.annotations?.[ANNOTATIONS.fieldsFromSpec])
}

function refOf({ vm: { metadata } }: MachineWorld) {
  return { name: metadata.name, namespace: metadata.namespace ?? '', uid: metadata.uid ?? '' }
}
