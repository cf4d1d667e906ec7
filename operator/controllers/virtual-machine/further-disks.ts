import { ANNOTATIONS, diskClaimName, type VirtualMachineDisk } from '@open-terrain/constructs'
import type { KubeVirtView } from '../../cluster/kubevirt-views.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf } from '../../cluster/ownership.ts'
import { keyOf, type Raw } from '../../kube/kube-object.ts'
import type { ClusterFacts } from './caches.ts'
import type { ClaimFacts, DiskFacts, MachineView, MachineWorld } from './world.ts'

interface FurtherDisks extends Pick<MachineWorld, 'disks' | 'diskClaims'> {
  /** Claims of others that have the name of an empty disk. */
  readonly foreign: readonly ClaimFacts[]
}

/**
 * Observes the disks beside the root disk.
 * @param machine KubeVirt's machine, if it is ours
 */
export function furtherDisksOf(
  vm: MachineView,
  spec: MachineWorld['spec'],
  machine: KubeVirtView | undefined,
  claims: ClusterFacts['claims'],
): FurtherDisks {
  const { namespace = '', uid = '' } = vm.metadata
  const diskClaims = childrenOf(vm, claims.find(BY_OWNER, familyKey(namespace, uid)))
  const wanted = spec.ok ? (spec.spec.disks ?? []) : []
  if (wanted.length === 0) return { disks: [], diskClaims, foreign: [] }
  const at = (name: string) => claims.get(keyOf({ namespace, name }))
  const given = givenTo(machine)
  const disks = wanted.map((disk) => diskFacts(vm, disk, { machine, given: given.get(disk.name), at }))
  const names = wanted.flatMap(({ name, volume }) =>
    volume === undefined ? diskClaimName(vm.metadata.name, name) : [],
  )
  const foreign = names.map(at).filter((claim) => claim !== undefined && !isChildOf(claim, vm)) as ClaimFacts[]
  return { disks, diskClaims, foreign }
}

interface Found {
  readonly machine: KubeVirtView | undefined
  readonly given: DiskFacts['given']
  readonly at: (name: string) => ClaimFacts | undefined
}

function diskFacts(vm: MachineView, spec: VirtualMachineDisk, found: Found): DiskFacts {
  const ownClaim = spec.volume ?? diskClaimName(vm.metadata.name, spec.name)
  const claimName = restoredClaimOf(vm, spec, ownClaim, found) ?? ownClaim
  const claim = found.at(claimName)
  const isForeign = claim !== undefined && claimName === ownClaim && spec.volume === undefined && !isChildOf(claim, vm)
  return { spec, claimName, ownClaim, claim: isForeign ? undefined : claim, given: found.given }
}

/**
 * Returns the claim that a restore of KubeVirt made this disk; undefined if none did. KubeVirt writes it into the spec of its machine. Our annotation
 * beside it still names the claim from before. If KubeVirt's machine is gone, our status tells.
 */
function restoredClaimOf(
  { status }: MachineView,
  { name, volume }: VirtualMachineDisk,
  ownClaim: string,
  { machine, given, at }: Found,
): string | undefined {
  const record = status.disks?.find((one) => one.name === name && one.volume === volume)
  if (machine === undefined) {
    const isKnown = record !== undefined && (record.claimUID !== undefined || at(record.claim) !== undefined)
    return isKnown ? record.claim : undefined
  }
  if (given === undefined || given.ownClaim !== ownClaim || given.claimName === ownClaim) return undefined
  return machine.lastRestore !== '' || given.claimName === record?.claim ? given.claimName : undefined
}

/** Returns the disks that the operator gave KubeVirt's machine, by name: what our annotation says, and what the machine has. */
function givenTo(machine: KubeVirtView | undefined): ReadonlyMap<string, NonNullable<DiskFacts['given']>> {
  const note = machine?.metadata.annotations?.[ANNOTATIONS.disks] ?? ''
  const volumes: Raw[] = (machine?.spec as Raw)?.template?.spec?.volumes ?? []
  const entries = note.split(',').flatMap((entry) => {
    const [name = '', ownClaim = ''] = entry.split('=')
    const claimName = volumes.find((one) => one.name === name)?.persistentVolumeClaim?.claimName ?? ownClaim
    return name === '' ? [] : [[name, { ownClaim, claimName }] as const]
  })
  return new Map(entries)
}
