import { ANNOTATIONS } from '@open-terrain/constructs'
import { ROOT_DISK } from '@open-terrain/constructs/operator'
import type { KubeVirtView } from '../kubevirt-views.ts'
import type { MachineWorld } from '../world.ts'
import { type MachineDraft, type Step, waiting } from './machine-plan.ts'
import type { Remark } from './status.ts'

/** No watch event reports that a restore that has not begun fails, or is deleted. */
const AWAITED_REQUEUE = { afterMs: 5_000, because: 'the restore may have begun or ended by then' } as const

/**
 * Stands still while KubeVirt restores the machine: it replaces the claim of the disk, and then the spec of its machine. Nothing is written, no clock
 * runs, and a claim that has no owner for a moment is not judged. Returns undefined if no restore is under way.
 */
export function planRestore({ world }: MachineDraft): Step | undefined {
  const { restoring, vm } = world
  if (restoring === undefined) return undefined
  const { name, namespace } = vm.metadata
  if ('restore' in restoring) {
    const which = `VirtualMachineRestore ${restoring.restore}`
    const look = `kubectl -n ${namespace} describe virtualmachinerestores.snapshot.kubevirt.io ${restoring.restore}`
    if (restoring.isAwaited === true) {
      const message = `${which} has switched the machine off, and begins when the guest is gone: the machine stays off until then; if it lasts, see ${look}`
      return { summary: waiting('Restoring', message), requeue: AWAITED_REQUEUE }
    }
    const message = `KubeVirt restores the machine (${which}): nothing is written to it until that is over; if it lasts, see ${look}`
    return { summary: waiting('Restoring', message, `KubeVirt restores the machine (${which})`) }
  }
  const { dataVolume } = restoring
  const message = `a restore of KubeVirt has deleted the disk of VirtualMachine ${name}, and DataVolume ${dataVolume} waits for the restored one; if it lasts, restore again, or delete that DataVolume, and set annotation ${ANNOTATIONS.rebuildRequestedAt} of the virtual machine: it then gets a new disk from its image`
  return { summary: waiting('Restoring', message) }
}

/** Returns what people should know about the disk of a machine that KubeVirt has restored. */
export function remarksOnRestore(world: MachineWorld): Remark[] {
  const { vm, machine, rootName: clone, restoredClaim, isRestoredClaimLost } = world
  if (isRestoredClaimLost) {
    const message = `PersistentVolumeClaim ${vm.status.restoredClaim}, which a restore of KubeVirt made the root disk, is gone: the machine starts from DataVolume ${clone} again, which does not have the restored data`
    return [{ type: 'RestoredDiskLost', reason: 'RestoredDiskLost', message }]
  }
  if (restoredClaim === undefined) {
    const { dataVolume, persistentVolumeClaim: claim } = rootVolumeOf(machine) ?? {}
    if ((dataVolume === undefined || dataVolume.name === clone) && claim === undefined) return []
    // No restore has written it: the volume is put back.
    const other = claim === undefined ? `DataVolume ${dataVolume?.name}` : `PersistentVolumeClaim ${claim.claimName}`
    const message = `somebody made VirtualMachine ${machine?.metadata.name} of KubeVirt start from ${other}, and not by a restore: it starts from DataVolume ${clone} again`
    return [{ type: 'ChangeUndone', reason: 'ChangeUndone', message }]
  }
  const by = machine?.lastRestore ? ` (${machine.lastRestore})` : ''
  const stays =
    restoredClaim === clone ? '' : `; DataVolume ${clone} has the disk from before, if it still exists, and is not used`
  const message = `the root disk is PersistentVolumeClaim ${restoredClaim}, from a restore of KubeVirt${by}${stays}`
  return [{ type: 'DiskRestored', reason: 'DiskRestored', message }]
}

interface Volume {
  readonly name: string
  readonly dataVolume?: { readonly name: string }
  readonly persistentVolumeClaim?: { readonly claimName: string }
}

function rootVolumeOf(machine: KubeVirtView | undefined): Volume | undefined {
  const { template } = (machine?.spec ?? {}) as { template?: { spec?: { volumes?: readonly Volume[] } } }
  return template?.spec?.volumes?.find(({ name }) => name === ROOT_DISK)
}
