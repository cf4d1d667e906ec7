import { withoutUndefined } from '../../runtime/conditions.ts'
import { type MachinePlan, removalOf } from './machine-plan.ts'
import { withStanding } from './status.ts'
import type { World } from './world.ts'

const LOOK_MS = 60_000

/**
 * A machine that somebody deleted goes step by step: KubeVirt's machine with its instance, the disk when nothing runs from it any
 * more, the Secret last. The image stays. The finalizer goes when nothing is left.
 */
export function planDeletion(world: World, now: number): MachinePlan {
  const { vm, machine, instance, clone, secret } = world
  const runs = machine ?? instance
  const next = runs ?? clone ?? secret
  if (next === undefined) return { status: vm.status, finalizer: 'release', apply: [], remove: [], events: [] }
  const message = `being deleted: waiting for ${next.kind} ${next.metadata.name}`
  const { phase = 'Provisioning', image } = vm.status
  const status = withStanding(
    withoutUndefined({ ...vm.status, addresses: undefined }),
    {
      // No phase tells of an end; what it was is as good as any, but Ready it is not.
      standing: { phase: phase === 'Failed' ? 'Failed' : 'Provisioning', reason: 'Deleting', message },
      image,
      imageReady: { holds: false, reason: 'Deleting', message },
      remarks: [],
      generation: vm.metadata.generation,
    },
    now,
  )
  return {
    status,
    finalizer: 'keep',
    apply: [],
    remove: removalOf(next),
    events: [],
    wake: { afterMs: LOOK_MS, because: 'its children should be gone by then' },
  }
}
