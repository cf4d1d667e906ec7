import type { VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { BY_CLONE_SOURCE, BY_NAMESPACE } from '../../cluster/caches.ts'
import { cloneSourceKey } from '../../cluster/clone-sources.ts'
import { countingClaims } from '../../cluster/quotas.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import type { MachineCaches } from './caches.ts'
import type { CloneFacts, MachineView, NextDisk, RoomFacts } from './world.ts'

type Clone = NonNullable<VirtualMachineStatus['clone']>

/** Reports whether a new root disk is recorded that has no claim yet. */
export function isAwaited(next: NextDisk | undefined): boolean {
  return next !== undefined && next.claim === undefined
}

/**
 * Observes the room for a second root disk. Our own writes are in the caches at once, so machines that are asked at the same time see what the others have
 * asked for.
 * @param claim of the present root disk
 */
export function roomFor(vm: MachineView, claim: KubeObject | undefined, caches: MachineCaches): RoomFacts {
  const { cluster, machines } = caches
  const { namespace = '', uid } = vm.metadata
  const others = machines.find(BY_NAMESPACE, namespace).filter(({ metadata }) => metadata.uid !== uid)
  const source = claim && cloneSourceKey({ kind: 'PersistentVolumeClaim', namespace, name: claim.metadata.name })
  return {
    quotas: quotasIn(namespace, cluster),
    awaited: others.flatMap((one) => awaitedOf(one, caches)),
    isBeingCloned: source !== undefined && cluster.dataVolumes.find(BY_CLONE_SOURCE, source).length > 0,
  }
}

/** Most namespaces have no quota, and a cluster has thousands of claims. */
function quotasIn(namespace: string, { quotas, claims }: MachineCaches['cluster']): RoomFacts['quotas'] {
  const found = quotas.find(BY_NAMESPACE, namespace)
  if (found.length === 0) return found
  const present = [...claims.values()].filter(({ metadata }) => metadata.namespace === namespace)
  const uses = present.map(({ requested: size, storageClass }) => ({ size, storageClass }))
  return countingClaims(found, uses)
}

/** Reports whether CDI has still to make the claim of a DataVolume, and was not refused it: one that cannot go on must not keep others waiting. */
export function isPending(disk: CloneFacts | undefined): boolean {
  if (disk === undefined || isTerminating(disk) || disk.phase === 'Failed') return false
  return ![disk.bound, disk.running].some(({ reason }) => reason.startsWith('Err'))
}

/** Returns the root disks that a machine waits for. */
function awaitedOf(vm: MachineView, { cluster, asking }: MachineCaches): RoomFacts['awaited'] {
  const { namespace = '', uid = '' } = vm.metadata
  const { clone, replacement } = vm.status
  const diskOf = ({ name }: Clone) => cluster.dataVolumes.get(keyOf({ namespace, name }))
  const hasNoClaim = ({ name }: Clone) => cluster.claims.get(keyOf({ namespace, name })) === undefined
  const isAsked = (one: Clone) => {
    const disk = diskOf(one)
    return (disk === undefined ? asking.has(uid) : isPending(disk)) && hasNoClaim(one)
  }
  // One that has deleted its disk for the new one gets the room of that.
  const { givenUp, claimUID, claim: former = '' } = replacement ?? {}
  const left = cluster.claims.get(keyOf({ namespace, name: former }))
  const isFreed = left === undefined || isTerminating(left) || left.metadata.uid !== givenUp
  if (replacement !== undefined && givenUp !== undefined && givenUp === claimUID && isFreed)
    return [{ size: replacement.disk.diskSize }]
  const asked = [clone, replacement?.disk].filter((one) => one !== undefined && isAsked(one))
  return asked.map((one) => ({ size: one?.diskSize }))
}
