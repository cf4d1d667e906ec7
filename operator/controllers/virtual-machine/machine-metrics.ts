import {
  VIRTUAL_MACHINE_CONDITIONS as TYPE,
  VIRTUAL_MACHINE_CONDITION_RULES,
  VIRTUAL_MACHINE_PHASES,
  VIRTUAL_MACHINE_REASON_HELP,
  type VirtualMachineReason,
  type VirtualMachineStatus,
} from '@open-terrain/constructs/operator'
import type { Counter, Histogram, Registry } from 'prom-client'
import type { Clock } from '../../base/clock.ts'
import { knownOrOther } from '../../runtime/metric-labels.ts'
import { PhaseGauge, type Waiter } from '../../runtime/phase-gauge.ts'
import { reasonOf } from '../../runtime/summary.ts'

type Machine = Pick<Waiter, 'metadata'> & { readonly status: VirtualMachineStatus }

function whenTrue({ conditions = [] }: VirtualMachineStatus, type: keyof typeof TYPE) {
  return conditions.find((one) => one.type === type && one.status === 'True')
}

/** Reasons of the condition UpToDate where a machine is outdated. */
const OUTDATED: readonly string[] = [
  'SpecChanged',
  'ImageRefreshed',
  'RestartRequired',
] satisfies readonly VirtualMachineReason[]

function outdatedFor({ conditions = [] }: VirtualMachineStatus): string[] {
  const told = conditions.find(({ type, status }) => type === TYPE.UpToDate && status === 'False')
  return told !== undefined && OUTDATED.includes(told.reason) ? [told.reason] : []
}

/**
 * Metrics of virtual machines. Gauges are computed when they are scraped. The counter counts what the caches show, not what was written, so
 * neither a lost response nor a failed write makes it wrong.
 */
export class MachineMetrics extends PhaseGauge<Machine> {
  readonly #kicks: Counter
  readonly #provisioning: Histogram

  constructor(registry: Registry, clock: Pick<Clock, 'now'>) {
    super(registry, 'ot_vm_phase', 'VirtualMachines by phase', Object.keys(VIRTUAL_MACHINE_PHASES), 'Provisioning')
    const { meters } = this
    const statuses = () => Array.from(this.objects(), ({ status }) => status)
    // Only the condition Stalled reports a bug in the operator.
    const reasonIn = (status: VirtualMachineStatus) => {
      const reason = whenTrue(status, TYPE.Stalled)?.reason ?? reasonOf(status)
      return reason === undefined ? [] : knownOrOther(VIRTUAL_MACHINE_REASON_HELP, reason)
    }
    const byReason = (name: string, help: string, isReady: boolean) =>
      meters.counted(name, help, 'reason', () =>
        statuses().flatMap((status) => ((status.phase === 'Ready') === isReady ? reasonIn(status) : [])),
      )
    byReason('ot_vm_waiting', 'VirtualMachines that are not ready, by reason', false)
    byReason(
      'ot_vm_ready',
      'VirtualMachines that are ready, by reason: some are off as wanted, some wait for a restart or a new disk',
      true,
    )
    meters.observed(
      'ot_vm_full_copies',
      'VirtualMachines whose disk CDI copied instead of cloning it',
      () => statuses().filter((status) => whenTrue(status, TYPE.FullCopy) !== undefined).length,
    )
    meters.counted(
      'ot_vm_disk_loss',
      'VirtualMachines whose guest has run from a disk that is gone or being deleted, by reason',
      'reason',
      () =>
        statuses().flatMap((status) => {
          const lost = whenTrue(status, TYPE.DiskLost)
          return lost === undefined ? [] : knownOrOther(VIRTUAL_MACHINE_REASON_HELP, lost.reason)
        }),
      VIRTUAL_MACHINE_CONDITION_RULES.DiskLost.reasons,
    )
    meters.counted(
      'ot_vm_outdated',
      'VirtualMachines whose disk or guest is not of their present spec and image, by reason',
      'reason',
      () => statuses().flatMap(outdatedFor),
      OUTDATED,
    )
    this.observeLongestWait(
      'ot_vm_longest_wait_seconds',
      'How long the VirtualMachine that has waited longest has not been ready; 0 where none waits',
      clock,
    )
    this.#provisioning = meters.histogram(
      'ot_vm_provision_seconds',
      'Time that a VirtualMachine took to become Ready, without the wait for its image',
      [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200],
    )
    this.#kicks = meters.counter(
      'ot_vm_kicks_total',
      'Instances, and clones of disks, that were deleted to revive a machine',
    )
  }

  /** Observes the time since provisioningSince, if the change of the status made the machine Ready. */
  provisioned(before: VirtualMachineStatus, after: VirtualMachineStatus): void {
    const isNew = before.phase !== 'Ready' && after.phase === 'Ready'
    const seconds =
      (Date.parse(whenTrue(after, TYPE.Ready)?.lastTransitionTime ?? '') - Date.parse(before.provisioningSince ?? '')) /
      1_000
    if (isNew && seconds >= 0) this.#provisioning.observe(seconds)
  }

  /** Counts the kicks that a change of the status adds. */
  kicked(before: VirtualMachineStatus['kicks'], after: VirtualMachineStatus['kicks']): void {
    const [had, has] = [before?.count ?? 0, after?.count ?? 0]
    // The count starts again with each budget.
    this.#kicks.inc(has < had ? has : has - had)
  }
}
