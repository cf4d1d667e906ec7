import { VIRTUAL_MACHINE_PHASES } from '@open-terrain/constructs'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Where one machine stands. */
export interface MachineFacts {
  readonly phase: string
  readonly reason: string
  /** Its disk is no cheap clone. */
  readonly isFullCopy: boolean
}

/** What people who run fleets of machines want to see. Gauges are read when they are asked for. */
export class MachineMetrics {
  readonly #kicks: Counter
  #facts: (() => Iterable<MachineFacts>) | undefined

  constructor(registry: Registry) {
    const registers = [registry]
    const facts = () => this.#facts?.() ?? []
    new Gauge({
      name: 'ot_vm_phase',
      help: 'VirtualMachines by phase',
      labelNames: ['phase'],
      registers,
      collect() {
        const counts = new Map<string, number>(Object.keys(VIRTUAL_MACHINE_PHASES).map((phase) => [phase, 0]))
        for (const { phase } of facts()) counts.set(phase, (counts.get(phase) ?? 0) + 1)
        for (const [phase, count] of counts) this.set({ phase }, count)
      },
    })
    new Gauge({
      name: 'ot_vm_waiting',
      help: 'VirtualMachines that are not ready, by reason',
      labelNames: ['reason'],
      registers,
      collect() {
        const counts = new Map<string, number>()
        for (const { phase, reason } of facts())
          if (phase !== 'Ready') counts.set(reason, (counts.get(reason) ?? 0) + 1)
        this.reset()
        for (const [reason, count] of counts) this.set({ reason }, count)
      },
    })
    new Gauge({
      name: 'ot_vm_full_copies',
      help: 'VirtualMachines whose disk CDI copied instead of cloning it',
      registers,
      collect() {
        this.set([...facts()].filter(({ isFullCopy }) => isFullCopy).length)
      },
    })
    this.#kicks = new Counter({
      name: 'ot_vm_kicks_total',
      help: 'Instances, and clones of disks, that were deleted to revive a machine',
      registers,
    })
  }

  /** Where the gauges are read; undefined where this replica does not lead, and they are empty. */
  readFrom(facts: (() => Iterable<MachineFacts>) | undefined): void {
    this.#facts = facts
  }

  kicked(): void {
    this.#kicks.inc()
  }
}
