import type { Registry } from 'prom-client'
import type { Clock } from '../base/clock.ts'
import { fromTime } from '../base/time.ts'
import type { ObjectMeta } from '../kube/kube-object.ts'
import type { StatusCondition } from './conditions.ts'
import { Meters } from './meters.ts'

/** The fields of an object with a phase that describe its wait. */
export interface Waiter {
  readonly metadata?: Pick<ObjectMeta, 'creationTimestamp' | 'deletionTimestamp'>
  readonly status?: {
    readonly phase?: string | undefined
    readonly conditions?: readonly Pick<StatusCondition, 'type' | 'status' | 'lastTransitionTime'>[] | undefined
  }
}

/** The number of objects of a kind in each phase, as observed by the replica that leads. 0 for the others. */
export class PhaseGauge<O extends Waiter = Waiter> {
  protected readonly meters: Meters
  protected objects: () => Iterable<O> = () => []

  /** `all`: phases, reported even if no object is in them. `first`: phase of an object that has none yet; if absent, such an object is in none. */
  constructor(registry: Registry, name: string, help: string, all: readonly string[], first?: string) {
    this.meters = new Meters(registry)
    const phases = () => Array.from(this.objects()).flatMap(({ status }) => status?.phase ?? first ?? [])
    this.meters.counted(name, help, 'phase', phases, all)
  }

  /** Also reports for how long the object that has waited longest has not been ready. */
  observeLongestWait(name: string, help: string, clock: Pick<Clock, 'now'>): void {
    this.meters.observed(name, help, () => longestWaitSeconds(this.objects(), clock.now()))
  }

  /** Sets the source of the objects; undefined if this replica does not lead. */
  readFrom(objects: (() => Iterable<O>) | undefined): void {
    this.objects = objects ?? (() => [])
  }
}

/** Returns for how many seconds the object that has waited longest has not been ready; 0 if none waits. */
export function longestWaitSeconds(objects: Iterable<Waiter>, now: number): number {
  let longest = 0
  for (const object of objects) longest = Math.max(longest, now - (waitsSince(object) ?? now))
  return longest / 1_000
}

/** An object waits while it is `Provisioning`, unless it is being deleted. */
function waitsSince({ metadata, status }: Waiter): number | undefined {
  const { phase = 'Provisioning', conditions = [] } = status ?? {}
  if (phase !== 'Provisioning' || metadata?.deletionTimestamp !== undefined) return undefined
  const ready = conditions.find(({ type }) => type === 'Ready')
  const since = ready?.status === 'True' ? undefined : ready?.lastTransitionTime
  return fromTime(since) ?? fromTime(metadata?.creationTimestamp)
}
