import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Creates the metrics of one registry. */
export class Meters {
  readonly registry: Registry

  constructor(registry = new Registry()) {
    this.registry = registry
  }

  counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  histogram(name: string, help: string, buckets: number[], ...labelNames: string[]): Histogram {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.registry] })
  }

  gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] })
  }

  /** Adds a gauge that is computed when it is scraped. */
  observed(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }

  /** Adds a gauge of the number of items of each sort, computed when it is scraped. @param all sorts, reported even if there are no items of them */
  counted(name: string, help: string, label: string, sorts: () => Iterable<string>, all: readonly string[] = []): void {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const sort of all) this.set({ [label]: sort }, 0)
        for (const sort of sorts()) this.inc({ [label]: sort })
      },
    })
  }
}
