import {
  VIRTUAL_MACHINE_CONDITIONS as TYPE,
  VIRTUAL_MACHINE_PHASES,
  type VirtualMachineStatus,
} from '@open-terrain/constructs'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { phaseGauge } from '../../runtime/phase-gauge.ts'
import { reasonOf } from './decide/status.ts'

/** Where one machine stands. */
export interface MachineFacts {
  readonly phase: string
  /** Undefined until a status tells one. */
  readonly reason: string | undefined
  /** Its disk is no cheap clone. */
  readonly isFullCopy: boolean
}

/** What the gauges look at of a status. */
export function factsOf(status: VirtualMachineStatus): MachineFacts {
  const { phase = 'Provisioning', conditions = [] } = status
  // A fault of ours is told by this condition alone.
  const stalled = conditions.find((one) => one.type === TYPE.Stalled && one.status === 'True')
  const isFullCopy = conditions.some(({ type }) => type === TYPE.FullCopy)
  return { phase, reason: stalled?.reason ?? reasonOf(status), isFullCopy }
}

function lastReady({ conditions = [] }: VirtualMachineStatus): string | undefined {
  return conditions.find((one) => one.type === TYPE.Ready && one.status === 'True')?.lastTransitionTime
}

/**
 * What people who run fleets of machines want to see. Gauges are read when they are asked for, and the counter counts what the
 * cluster is seen to say: a lost answer to a write of ours, or a write that fails after it, changes neither.
 */
export class MachineMetrics {
  readonly #kicks: Counter
  readonly #provisioning: Histogram
  #facts: (() => Iterable<MachineFacts>) | undefined

  constructor(registry: Registry) {
    const registers = [registry]
    const facts = () => this.#facts?.() ?? []
    phaseGauge(registry, { name: 'ot_vm_phase', help: 'VirtualMachines by phase' }, VIRTUAL_MACHINE_PHASES, () =>
      [...facts()].map(({ phase }) => phase),
    )
    new Gauge({
      name: 'ot_vm_waiting',
      help: 'VirtualMachines that are not ready, by reason',
      labelNames: ['reason'],
      registers,
      collect() {
        const counts = new Map<string, number>()
        for (const { phase, reason } of facts())
          if (phase !== 'Ready' && reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1)
        this.reset()
        for (const [reason, count] of counts) this.set({ reason }, count)
      },
    })
    new Gauge({
      name: 'ot_vm_ready',
      help: 'VirtualMachines that are ready, by reason: some are off as wanted, some wait for a restart or a new disk',
      labelNames: ['reason'],
      registers,
      collect() {
        this.reset()
        for (const { phase, reason } of facts()) if (phase === 'Ready' && reason !== undefined) this.inc({ reason })
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
    this.#provisioning = new Histogram({
      name: 'ot_vm_provision_seconds',
      help: 'Time that a VirtualMachine took to become Ready, without the wait for its image',
      buckets: [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200],
      registers,
    })
    this.#kicks = new Counter({
      name: 'ot_vm_kicks_total',
      help: 'Instances, and clones of disks, that were deleted to revive a machine',
      registers,
    })
  }

  /** What a machine says before and after a change: one that has become Ready took so long since its image was there. */
  provisioned(before: VirtualMachineStatus, after: VirtualMachineStatus): void {
    const isNew = before.phase !== 'Ready' && after.phase === 'Ready'
    const seconds = (Date.parse(lastReady(after) ?? '') - Date.parse(before.provisioningSince ?? '')) / 1_000
    if (isNew && seconds >= 0) this.#provisioning.observe(seconds)
  }

  /** Where the gauges are read; undefined where this replica does not lead, and they are empty. */
  readFrom(facts: (() => Iterable<MachineFacts>) | undefined): void {
    this.#facts = facts
  }

  /** What a machine says of its kicks, before and after a change. */
  kicked(before: VirtualMachineStatus['kicks'], after: VirtualMachineStatus['kicks']): void {
    const [had, has] = [before?.count ?? 0, after?.count ?? 0]
    // The count begins anew with each budget.
    this.#kicks.inc(has < had ? has : has - had)
  }
}
