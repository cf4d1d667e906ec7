import { DATA_SYNC_PHASES } from '@open-terrain/constructs'
import type { Registry } from 'prom-client'
import { phaseGauge } from '../../runtime/phase-gauge.ts'

/** What people who run fleets of DataSyncs want to see. */
export class DataSyncMetrics {
  #phases: () => Iterable<string | undefined> = () => []

  constructor(registry: Registry) {
    phaseGauge(registry, { name: 'ot_data_sync_phase', help: 'DataSyncs by phase' }, DATA_SYNC_PHASES, () =>
      this.#phases(),
    )
  }

  /** Where the gauge is read; undefined where this replica does not lead, and it is 0. */
  readFrom(phases: (() => Iterable<string | undefined>) | undefined): void {
    this.#phases = phases ?? (() => [])
  }
}
