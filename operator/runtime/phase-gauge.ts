import { Gauge, type Registry } from 'prom-client'

/** A gauge of how many objects of a kind are in which phase: 0 where none is. Read when it is asked for. */
export function phaseGauge(
  registry: Registry,
  { name, help }: { readonly name: string; readonly help: string },
  all: Readonly<Record<string, string>>,
  phases: () => Iterable<string | undefined>,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['phase'],
    registers: [registry],
    collect() {
      const counts = new Map(Object.keys(all).map((phase) => [phase, 0]))
      for (const phase of phases()) if (phase !== undefined) counts.set(phase, (counts.get(phase) ?? 0) + 1)
      for (const [phase, count] of counts) this.set({ phase }, count)
    },
  })
}
