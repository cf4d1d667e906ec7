import { isOrphaning } from '../../../cluster/dependents.ts'
import { fromTime } from '../../../runtime/conditions.ts'
import { NOTHING_TO_DO, removalOf } from '../../../runtime/plan.ts'
import type { MachineWorld } from '../world.ts'
import { type MachinePlan, refused } from './machine-plan.ts'
import { leftClaim, withMachineStanding } from './status.ts'

const LOOK_MS = 60_000

/**
 * A machine that somebody deleted goes step by step: KubeVirt's machine with its instance, the disk when nothing runs from it any
 * more, the Secret last. The image stays. The finalizer goes when nothing is left. What was asked to be left without an owner is left.
 */
export function planMachineDeletion(world: MachineWorld, now: number): MachinePlan {
  const { vm, machine, instance, clone, secret } = world
  if (isOrphaning(vm)) return { ...NOTHING_TO_DO, status: vm.status }
  const runs = machine ?? instance
  const next = runs ?? clone ?? secret
  if (next === undefined) return { ...NOTHING_TO_DO, status: vm.status, finalizer: 'release' }
  const left = leftClaim(world)
  const since = fromTime(next.metadata.deletionTimestamp) ?? now
  const late = now - since >= LOOK_MS ? '; see which finalizers it has, and whether KubeVirt and CDI run' : ''
  const stays = left === undefined ? '' : `; ${left} is not deleted, because its DataVolume was deleted without it`
  const message = `being deleted: waiting for ${next.kind} ${next.metadata.name}${late}${stays}`
  const { phase = 'Provisioning', image } = vm.status
  const status = withMachineStanding(
    { ...vm.status, addresses: undefined },
    {
      // No phase tells of an end; what it was is as good as any, but Ready it is not.
      standing: refused({ phase: phase === 'Failed' ? 'Failed' : 'Provisioning', reason: 'Deleting', message }, world),
      image,
      imageReady: { holds: false, reason: 'Deleting', message },
      remarks: [],
      generation: vm.metadata.generation,
    },
    now,
  )
  return {
    ...NOTHING_TO_DO,
    status,
    remove: removalOf(next),
    wake: { afterMs: LOOK_MS, because: 'its children should be gone by then' },
  }
}
