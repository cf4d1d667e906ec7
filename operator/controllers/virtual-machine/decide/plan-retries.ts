import { ANNOTATIONS } from '@open-terrain/constructs'
import type { InstanceView, KubeVirtView } from '../../../cluster/kubevirt-views.ts'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { referTo } from '../../../runtime/plan.ts'
import { sooner } from '../../../runtime/wake.ts'
import type { MachineWorld } from '../world.ts'
import type { Step } from './machine-plan.ts'

const FIRST_MS = 60_000
const EVERY_MS = 300_000

/** What KubeVirt could not create: an instance of a machine, or the pod of an instance. */
export interface RefusedCreate {
  /** When this object changes, its controller tries again. */
  readonly object: KubeVirtView | InstanceView
  /** In ms; undefined if KubeVirt does not report it. */
  readonly since: number | undefined
}

/** Returns undefined if nothing is refused. */
export function refusedOf({
  machine,
  instance,
}: Pick<MachineWorld, 'machine' | 'instance'>): RefusedCreate | undefined {
  if (machine === undefined) return undefined
  const { failure, refusedPod, refusedSince: since } = machine
  if (failure !== '') return { object: machine, since }
  return refusedPod !== '' && instance !== undefined ? { object: instance, since } : undefined
}

/**
 * KubeVirt retries what was refused with a back-off that doubles up to 1,000 s, and is not notified when the cause is gone. It retries at once
 * when the object changes. So the object gets an annotation after waits of 1, 2 and 4 minutes, then every 5 minutes while the refusal lasts.
 */
export function withRetry(world: MachineWorld, step: Step, now: number): Step {
  const refused = refusedOf(world)
  if (refused === undefined) return step
  const { annotations, creationTimestamp } = refused.object.metadata
  const since = refused.since ?? fromTime(creationTimestamp) ?? now
  const last = Math.max(since, fromTime(annotations?.[ANNOTATIONS.retriedAt]) ?? since)
  const leftMs = last + Math.min(EVERY_MS, last - since + FIRST_MS) - now
  const again = { afterMs: leftMs > 0 ? leftMs : FIRST_MS, because: 'KubeVirt should try again by then' }
  const wake = sooner(step.wake, again)
  if (leftMs > 0) return { ...step, wake }
  return {
    ...step,
    wake,
    touch: [{ ...referTo(refused.object), annotations: { [ANNOTATIONS.retriedAt]: toTime(now) } }],
  }
}
