import { DATA_SYNC_PHASES } from '@open-terrain/constructs'
import type { Registry } from 'prom-client'
import { Meters } from '../../runtime/meters.ts'

/** What people who run fleets of DataSyncs want to see. */
export class DataSyncMetrics {
  #phases: () => Iterable<string | undefined> = () => []

  constructor(registry: Registry) {
    const phases = () => Array.from(this.#phases()).flatMap((phase) => phase ?? [])
    new Meters(registry).counted(
      'ot_data_sync_phase',
      'DataSyncs by phase',
      'phase',
      phases,
      Object.keys(DATA_SYNC_PHASES),
    )
  }

  /** Where the gauge is read; undefined where this replica does not lead, and it is 0. */
  readFrom(phases: (() => Iterable<string | undefined>) | undefined): void {
    this.#phases = phases ?? (() => [])
  }
}
