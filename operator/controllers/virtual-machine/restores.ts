import { LABELS } from '@open-terrain/constructs'
import { isOrphaned } from '../../cluster/ownership.ts'
import { isFilledByOthers, POPULATED_FOR } from '../../cluster/views.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import type { Readable } from '../../runtime/store.ts'
import type { KubeVirtView } from './kubevirt-views.ts'
import type { MachineView, MachineWorld } from './world.ts'

type Restore = Pick<
  MachineWorld,
  'restoring' | 'restoredClaim' | 'isDiskElsewhere' | 'isRestoredClaimLost' | 'restoredAside'
>

/**
 * Observes what restores of KubeVirt do, or did, to a machine. KubeVirt names the restore in the status of its machine as long as it works. It writes
 * the claim of the restored disk into the spec in the same write as the annotation that says so, and never takes the annotation off. A machine that
 * was deleted and made again does not have the annotation: our status tells then.
 * @param rootName of the root disk of the machine without a restore
 * @param machine KubeVirt's machine, if it is ours
 * @param clone our DataVolume
 */
export function restoreOf(
  vm: MachineView,
  rootName: string,
  machine: KubeVirtView | undefined,
  clone: KubeObject | undefined,
  claims: Readable<KubeObject>,
): Restore {
  const { namespace = '' } = vm.metadata
  const isElsewhere = (name: string | undefined) => name !== undefined && name !== rootName
  const claimAt = (name: string) => claims.get(keyOf({ namespace, name }))
  const recorded = vm.status.restoredClaim
  if (machine === undefined) {
    const restoredClaim = recorded !== undefined && isUsable(vm, rootName, claimAt(recorded)) ? recorded : undefined
    return {
      restoring: undefined,
      restoredClaim,
      isDiskElsewhere: isElsewhere(restoredClaim),
      isRestoredClaimLost: recorded !== undefined && restoredClaim === undefined,
      restoredAside: undefined,
    }
  }
  const restoredClaim = claimOf(machine, recorded)
  const found = recorded === undefined ? undefined : claimAt(recorded)
  const isGone = recorded !== undefined && isGoneOrGoing(found)
  // Another claim of that name is another disk.
  const isDiskOfGuest = !isGone && found !== undefined && found.metadata.uid === vm.status.diskUID
  return {
    restoring: restoringOf(machine, clone, claimAt),
    restoredClaim,
    isDiskElsewhere: isElsewhere(restoredClaim),
    isRestoredClaimLost: restoredClaim === undefined && isGone,
    restoredAside: restoredClaim === undefined && isElsewhere(recorded) && isDiskOfGuest ? recorded : undefined,
  }
}

/** Reports whether CDI is to make the DataVolume the owner of a claim that has none: a restore in place has made the claim. */
export function isLeftTo(dataVolume: KubeObject | undefined, claim: KubeObject | undefined): boolean {
  if (dataVolume === undefined || claim === undefined || !isOrphaned(claim)) return false
  return claim.metadata.annotations?.[POPULATED_FOR] === dataVolume.metadata.name
}

function claimOf({ rootClaim, lastRestore }: KubeVirtView, recorded: string | undefined): string | undefined {
  if (rootClaim === '') return undefined
  return lastRestore !== '' || rootClaim === recorded ? rootClaim : undefined
}

function isGoneOrGoing(claim: KubeObject | undefined): claim is undefined {
  return claim === undefined || isTerminating(claim)
}

/**
 * Reports whether a restored claim stays although KubeVirt's machine is gone. It goes with its owner, unless the deletion has orphaned it. The owner of
 * the claim of our DataVolume is that.
 */
function isUsable(vm: MachineView, rootName: string, claim: KubeObject | undefined): boolean {
  if (isGoneOrGoing(claim)) return false
  return (
    claim.metadata.name === rootName || (isOrphaned(claim) && claim.metadata.labels?.[LABELS.vmUid] === vm.metadata.uid)
  )
}

function restoringOf(
  machine: KubeVirtView,
  clone: KubeObject | undefined,
  claimAt: (name: string) => KubeObject | undefined,
): Restore['restoring'] {
  const { restoreInProgress } = machine
  if (isTerminating(machine)) return undefined
  if (restoreInProgress !== '') return { restore: restoreInProgress }
  if (clone === undefined || isTerminating(clone) || !isFilledByOthers(clone)) return undefined
  return claimAt(clone.metadata.name) === undefined ? { dataVolume: clone.metadata.name } : undefined
}
