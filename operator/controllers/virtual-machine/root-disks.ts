import { LABELS } from '@open-terrain/constructs'
import { rootDiskGeneration, rootDiskName } from '@open-terrain/constructs/operator'
import { BY_CLONE_SOURCE } from '../../cluster/caches.ts'
import { type CloneSource, cloneSourceKey } from '../../cluster/clone-sources.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf } from '../../cluster/ownership.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import type { ClusterFacts } from './caches.ts'
import type { KubeVirtView } from './kubevirt-views.ts'
import type { ClaimFacts, CloneFacts, MachineView, MachineWorld, NextDisk, ReplacedDisk, RootDisk } from './world.ts'

/** What the root disks are observed in. */
interface RootCaches extends Pick<ClusterFacts, 'claims' | 'dataVolumes'> {
  readonly hasSource: (source: CloneSource | undefined) => boolean
}

/**
 * Returns the name of the root disk that the machine starts from. The status says it. Without a status, as after a restore of the cluster from a backup,
 * KubeVirt's machine does, if it names a disk of ours.
 * @param machine KubeVirt's machine, if it is ours
 */
export function rootNameOf(
  vm: MachineView,
  machine: Pick<KubeVirtView, 'rootDataVolume'> | undefined,
  dataVolumes: RootCaches['dataVolumes'],
): string {
  const { name, namespace } = vm.metadata
  const recorded = vm.status.clone?.name
  if (recorded !== undefined && rootDiskGeneration(name, recorded) !== undefined) return recorded
  const named = machine?.rootDataVolume ?? ''
  const found = named === '' ? undefined : dataVolumes.get(keyOf({ namespace, name: named }))
  const isOurs = found !== undefined && isChildOf(found, vm) && rootDiskGeneration(name, named) !== undefined
  return isOurs ? named : rootDiskName(name, 1)
}

/** Observes the root disks that the machine does not start from. */
export function otherRootsOf(
  vm: MachineView,
  rootName: string,
  machine: KubeObject | undefined,
  { claims, dataVolumes, hasSource }: RootCaches,
  image: CloneSource | undefined,
): Pick<MachineWorld, 'next' | 'old' | 'otherRoots'> {
  const { namespace = '', name, uid = '' } = vm.metadata
  const { replacement, oldDisk } = vm.status
  // Objects of others are among them.
  const cloneAt = (at: string): CloneFacts | undefined => dataVolumes.get(keyOf({ namespace, name: at }))
  const claimAt = (at: string): ClaimFacts | undefined => claims.get(keyOf({ namespace, name: at }))
  const rootAt = (at: string): RootDisk => {
    const [clone, claim] = [cloneAt(at), claimAt(at)]
    const ours = clone !== undefined && isChildOf(clone, vm) ? clone : undefined
    return { name: at, clone: ours, claim: claim && ours && isChildOf(claim, ours) ? claim : undefined }
  }
  const nextName = replacement?.disk.name
  // The first disk of a machine is not in the index.
  const later = childrenOf(vm, dataVolumes.find(BY_OWNER, familyKey(namespace, uid))).map((one) => one.metadata.name)
  const names = new Set([rootDiskName(name, 1), ...later.filter((one) => rootDiskGeneration(name, one) !== undefined)])
  const others = [...names].filter((one) => one !== rootName && one !== nextName).map(rootAt)
  return {
    next: nextName === undefined ? undefined : nextOf(rootAt(nextName), cloneAt(nextName), claimAt(nextName)),
    old: oldDisk && oldOf(oldDisk, rootAt(oldDisk.claim), claimAt(oldDisk.claim)),
    otherRoots: others.filter(({ clone }) => clone !== undefined),
  }

  function nextOf(found: RootDisk, clone: KubeObject | undefined, claim: KubeObject | undefined): NextDisk {
    // CDI copies our label to the claim, which has no owner yet for a moment.
    const isOurs = claim !== undefined && (found.claim !== undefined || claim.metadata.labels?.[LABELS.vmUid] === uid)
    const foreign = clone !== found.clone ? clone : isOurs ? undefined : claim
    const source = found.clone === undefined ? image : found.clone.cloneOf
    return {
      ...found,
      foreign: foreign && `${foreign.kind} ${foreign.metadata.name}`,
      hasCloneSource: hasSource(source),
    }
  }

  /** Another object of the name is another disk. A claim of a restore belongs to KubeVirt's machine. */
  function oldOf(
    { dataVolumeUID, claimUID }: NonNullable<MachineView['status']['oldDisk']>,
    found: RootDisk,
    claim: ClaimFacts | undefined,
  ): ReplacedDisk | undefined {
    const clone = found.clone?.metadata.uid === dataVolumeUID ? found.clone : undefined
    const isOfRestore = dataVolumeUID === undefined && claim && machine && isChildOf(claim, machine)
    const own = isOfRestore || isTerminating(claim) ? claim : clone && found.claim
    const kept = own !== undefined && own.metadata.uid === claimUID ? own : undefined
    if (clone === undefined && kept === undefined) return undefined
    const source = cloneSourceKey({ kind: 'PersistentVolumeClaim', namespace, name: found.name })
    return { ...found, clone, claim: kept, isBeingCloned: dataVolumes.find(BY_CLONE_SOURCE, source).length > 0 }
  }
}
