import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { diskClaimName, isDiskClaimName, type VirtualMachineDisk } from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../base/equality.ts'
import type { CloneSource } from '../../cluster/clone-sources.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type KubeObject, keyOf, objectKeyOf, type Raw } from '../../kube/kube-object.ts'
import type { Readable } from '../../runtime/store.ts'
import { type ClusterFacts, diskImageOf } from './caches.ts'
import { recordOf } from './decide/further-disks.ts'
import type { KubeVirtView } from './kubevirt-views.ts'
import type { DiskFacts, DiskImage, MachineView, MachineWorld } from './world.ts'

interface FurtherDisks extends Pick<MachineWorld, 'disks' | 'diskClaims' | 'diskClones' | 'strayClones'> {
  /** Objects of others that have the name of an object of such a disk. */
  readonly foreign: readonly KubeObject[]
}

/** What the disks are observed in. */
interface DiskCaches extends Pick<ClusterFacts, 'dataVolumes'> {
  readonly claims: Omit<ClusterFacts['claims'], 'values'>
  readonly images: Readable<ImageView>
  readonly hasSource: (source: CloneSource | undefined) => boolean
}

/**
 * Observes the disks beside the root disk.
 * @param machine KubeVirt's machine, if it is ours
 */
export function furtherDisksOf(
  vm: MachineView,
  spec: MachineWorld['spec'],
  machine: KubeVirtView | undefined,
  caches: DiskCaches,
): FurtherDisks {
  const { namespace = '', name, uid = '' } = vm.metadata
  const family = familyKey(namespace, uid)
  // Everybody who may create a volume can give it any owner.
  const isOfDisk = ({ metadata }: KubeObject) => isDiskClaimName(name, metadata.name)
  const diskClaims = childrenOf(vm, caches.claims.find(BY_OWNER, family)).filter(isOfDisk)
  const diskClones = childrenOf(vm, caches.dataVolumes.find(BY_OWNER, family)).filter(isOfDisk)
  const wanted = spec.ok ? (spec.spec.disks ?? []) : recordedDisks(vm)
  const given = givenTo(machine)
  const found = wanted.map((disk) => diskFacts(vm, disk, { machine, given: given.get(disk.name), caches }))
  const foreign = found.flatMap((one) => one.foreign)
  const named = new Set(found.map(({ disk }) => disk.ownClaim))
  const strays = spec.ok ? diskClones.filter(({ metadata }) => !named.has(metadata.name)) : []
  const strayClones = strays.map((clone) => ({ clone, claim: caches.claims.get(keyOf(clone.metadata)) }))
  return { disks: found.map(({ disk }) => disk), diskClaims, diskClones, strayClones, foreign }
}

/** Returns the disks that the guest has had, as the status knows them: a spec that cannot be read does not hide that one of them is lost. */
function recordedDisks({ status: { disks = [] } }: MachineView): VirtualMachineDisk[] {
  return disks.flatMap(({ name, volume, image, size, claimUID }): VirtualMachineDisk[] => {
    if (claimUID === undefined) return []
    const vmDiskImageRef = image === undefined ? undefined : objectKeyOf(image)
    return [withoutUndefined({ name, volume, size, vmDiskImageRef })]
  })
}

/** A disk that the operator gave KubeVirt's machine. */
type Given = NonNullable<DiskFacts['given']> & {
  /** The machine does not have it any more: somebody, or a restore, has removed it. */
  readonly isLeftOut: boolean
}

interface Found {
  readonly machine: KubeVirtView | undefined
  readonly given: Given | undefined
  readonly caches: DiskCaches
}

function diskFacts(vm: MachineView, spec: VirtualMachineDisk, found: Found) {
  const { claims } = found.caches
  const { namespace } = vm.metadata
  const image = diskImageOf(vm, spec)
  const ownClaim = spec.volume ?? diskClaimName(vm.metadata.name, spec.name, spec.vmDiskImageRef?.name)
  const own = keyOf({ namespace, name: ownClaim })
  const claimName = restoredClaimOf(vm, spec, ownClaim, found) ?? ownClaim
  const claim = claims.get(keyOf({ namespace, name: claimName }))
  const dataVolume = image === undefined ? undefined : found.caches.dataVolumes.get(own)
  const clone = dataVolume !== undefined && isChildOf(dataVolume, vm) ? dataVolume : undefined
  // A restore in place makes the claim again. One that no DataVolume is to adopt is that of KubeVirt's machine.
  const isRestored = (one: KubeObject) => found.machine !== undefined && isChildOf(one, found.machine)
  const isOurs = (one: KubeObject) =>
    isChildOf(one, vm) || isRestored(one) || (image !== undefined && isOfClone(one, vm, clone))
  const isForeign = claim !== undefined && claimName === ownClaim && spec.volume === undefined && !isOurs(claim)
  const disk: DiskFacts = {
    spec,
    claimName,
    ownClaim,
    claim: isForeign ? undefined : claim,
    given: found.given,
    ...(image !== undefined && { ofImage: sourceOf(image, clone, found.caches) }),
  }
  const namesakes = spec.volume === undefined ? [claims.get(own)] : []
  const foreign = namesakes.filter((one) => one !== undefined && !isOurs(one)) as KubeObject[]
  return { disk, foreign: dataVolume === clone || dataVolume === undefined ? foreign : [...foreign, dataVolume] }
}

/** CDI copies our label to the claim, which may outlive its DataVolume. */
function isOfClone(claim: KubeObject, vm: MachineView, clone: KubeObject | undefined): boolean {
  const isOwned = clone !== undefined && isChildOf(claim, clone)
  return isOwned || claim.metadata.labels?.[LABELS.vmUid] === vm.metadata.uid
}

function sourceOf(key: string, clone: DiskImage['clone'], { images, hasSource }: DiskCaches): DiskImage {
  const image = images.get(key)
  const { artifact } = image?.status ?? {}
  const source = artifact && {
    kind: artifact.kind,
    namespace: image?.metadata.namespace ?? '',
    name: artifact.name,
  }
  return { key, image, clone, hasCloneSource: hasSource(clone === undefined ? source : clone.cloneOf) }
}

/**
 * Returns the claim that a restore of KubeVirt made this disk; undefined if none did. KubeVirt writes it into the spec of its machine. Our annotation
 * beside it still names the claim from before. If KubeVirt's machine is gone, our status tells.
 */
function restoredClaimOf(
  vm: MachineView,
  spec: VirtualMachineDisk,
  ownClaim: string,
  { machine, given, caches }: Found,
): string | undefined {
  const record = recordOf({ vm }, { spec })
  const at = (claim: string) => caches.claims.get(keyOf({ namespace: vm.metadata.namespace, name: claim }))
  if (machine === undefined) {
    const isKnown = record !== undefined && (record.claimUID !== undefined || at(record.claim) !== undefined)
    return isKnown ? record.claim : undefined
  }
  if (given === undefined || given.ownClaim !== ownClaim) return undefined
  // A restore of a time before the disk takes it away from the machine. It comes back with what it had, and not with the claim from before a restore.
  if (given.isLeftOut && record !== undefined && at(record.claim) !== undefined)
    return record.claim === ownClaim ? undefined : record.claim
  if (given.claimName === ownClaim) return undefined
  return machine.lastRestore !== '' || given.claimName === record?.claim ? given.claimName : undefined
}

/** Returns the disks that the operator gave KubeVirt's machine, by name: what our annotation says, and what the machine has. */
function givenTo(machine: KubeVirtView | undefined): ReadonlyMap<string, Given> {
  const note = machine?.metadata.annotations?.[ANNOTATIONS.disks] ?? ''
  const volumes: Raw[] = (machine?.spec as Raw)?.template?.spec?.volumes ?? []
  const entries = note.split(',').flatMap((entry) => {
    const [name = '', ownClaim = ''] = entry.split('=')
    if (name === '') return []
    const volume = volumes.find((one) => one.name === name)
    const claimName = volume?.persistentVolumeClaim?.claimName ?? ownClaim
    return [[name, { ownClaim, claimName, isLeftOut: volume === undefined }] as const]
  })
  return new Map(entries)
}
