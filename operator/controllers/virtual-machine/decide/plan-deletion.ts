import { fromTime } from '../../../base/time.ts'
import { isOrphaning } from '../../../cluster/dependents.ts'
import { NOTHING_TO_DO, removalOf } from '../../../runtime/plan.ts'
import type { MachineWorld } from '../world.ts'
import { withAbsence } from './absence.ts'
import { type MachinePlan, refused } from './machine-plan.ts'
import { leftClaim, withMachineSummary } from './status.ts'

const LOOK_MS = 60_000

/**
 * Plans the deletion of a machine in steps: KubeVirt's machine with its instance, its disks once nothing runs from them, the Secret last.
 * The image stays. The finalizer is released when no child is left. Children that the deletion is to orphan are left alone.
 */
export function planMachineDeletion(world: MachineWorld, now: number): MachinePlan {
  const { vm, machine, instance, clone, next: made, otherRoots, diskClones, diskClaims, secret } = world
  if (isOrphaning(vm)) return { ...NOTHING_TO_DO, status: vm.status }
  const runs = machine ?? instance
  const roots = [clone, made?.clone, otherRoots[0]?.clone].find((one) => one !== undefined)
  const next = runs ?? roots ?? diskClones[0] ?? diskClaims[0] ?? secret
  if (next === undefined) return { ...NOTHING_TO_DO, status: vm.status, finalizer: 'release' }
  const left = leftClaim(world)
  const since = fromTime(next.metadata.deletionTimestamp) ?? now
  const late = now - since >= LOOK_MS ? '; see which finalizers it has, and whether KubeVirt and CDI run' : ''
  const stays = left === undefined ? '' : `; ${left} is not deleted, because its DataVolume was deleted without it`
  const message = `being deleted: waiting for ${next.kind} ${next.metadata.name}${next === machine ? ' of KubeVirt' : ''}${late}${stays}`
  const { phase = 'Provisioning', image } = vm.status
  const summary = { phase: phase === 'Failed' ? 'Failed' : 'Provisioning', reason: 'Deleting', message } as const
  const status = withMachineSummary(
    { ...vm.status, addresses: undefined },
    {
      // There is no phase for a deletion. Failed is kept, and any other phase becomes Provisioning, since the machine is not Ready.
      summary: refused(withAbsence(world, summary), world),
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
    requeue: { afterMs: LOOK_MS, because: 'its children should be gone by then' },
  }
}
