import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { MetricLabel } from './metric-labels.ts'

/** One series of a gauge. */
interface Row {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Creates the metrics of one registry. */
export class Meters {
  readonly registry: Registry

  constructor(registry = new Registry()) {
    this.registry = registry
  }

  counter(name: string, help: string, ...labelNames: MetricLabel[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  histogram(name: string, help: string, buckets: number[], ...labelNames: MetricLabel[]): Histogram {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.registry] })
  }

  gauge(name: string, help: string, ...labelNames: MetricLabel[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] })
  }

  /** Adds a gauge that is computed when it is scraped. */
  observed(name: string, help: string, read: () => number): void {
    this.#computed(name, help, [], (gauge) => gauge.set(read()))
  }

  /** Adds a gauge of the number of items of each sort, computed when it is scraped. `all`: sorts that are reported even if there are no such items. */
  counted(
    name: string,
    help: string,
    label: MetricLabel,
    sorts: () => Iterable<string>,
    all: readonly string[] = [],
  ): void {
    this.#computed(name, help, [label], (gauge) => {
      gauge.reset()
      for (const sort of all) gauge.set({ [label]: sort }, 0)
      for (const sort of sorts()) gauge.inc({ [label]: sort })
    })
  }

  /** Adds a gauge with several labels, computed when it is scraped. A series that is not among the rows is gone. */
  tabled(name: string, help: string, labels: readonly MetricLabel[], rows: () => Iterable<Row>): void {
    this.#computed(name, help, [...labels], (gauge) => {
      gauge.reset()
      for (const row of rows()) gauge.set({ ...row.labels }, row.value)
    })
  }

  #computed(name: string, help: string, labelNames: MetricLabel[], compute: (gauge: Gauge) => void): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        compute(this)
      },
    })
  }
}
