import { WORKSPACE_PHASES, type WorkspaceStatus } from '@open-terrain/constructs'
import type { Counter, Registry } from 'prom-client'
import type { Clock } from '../../runtime/clock.ts'
import { PhaseGauge, type Waiter } from '../../runtime/phase-gauge.ts'

/** Metrics of workspaces. Gauges are computed when they are scraped. The counter counts what the cache shows, so a lost response does not change it. */
export class WorkspaceMetrics extends PhaseGauge<Pick<Waiter, 'metadata'> & { readonly status: WorkspaceStatus }> {
  readonly #volumesLost: Counter

  constructor(registry: Registry, clock: Pick<Clock, 'now'>) {
    super(registry, 'ot_workspace_phase', 'Workspaces by phase', Object.keys(WORKSPACE_PHASES))
    this.observeLongestWait(
      'ot_workspace_longest_wait_seconds',
      'How long the Workspace that has waited longest has not been ready; 0 where none waits',
      clock,
    )
    this.#volumesLost = this.meters.counter(
      'ot_workspace_volumes_lost_total',
      'Volumes of Workspaces whose data is gone, or goes with the pods that mount it',
    )
  }

  /** Counts the volumes that a change of a status reports as lost. */
  volumesLost(before: WorkspaceStatus, after: WorkspaceStatus): void {
    const known = new Set(lostIn(before))
    for (const name of lostIn(after)) if (!known.has(name)) this.#volumesLost.inc()
  }
}

function lostIn({ components = [] }: WorkspaceStatus): string[] {
  return components.flatMap(({ name, reason }) => (reason === 'VolumeLost' ? name : []))
}
