import { CdiSimulator } from './cdi.ts'
import type { CdiOptions } from './cdi-options.ts'
import { FaultScript } from './faults.ts'
import { KubevirtSimulator } from './kubevirt.ts'
import type { KubevirtOptions } from './kubevirt-options.ts'
import { Snapshotter } from './snapshotter.ts'
import { Storage } from './storage.ts'
import type { Transfer } from './transfer.ts'
import { type WorkloadOptions, Workloads } from './workloads.ts'
import { World, type WorldOptions } from './world.ts'

export type { Egress, ImageEgress } from './egress.ts'
export type { Fault, FaultMoment, RunFault, ScriptOptions, StateFault, Target } from './faults.ts'
export { httpTransfer } from './http-transfer.ts'
export type {
  MachineFault,
  MachineRunFault,
  MachineScriptOptions,
  MachineStateFault,
  MachineTarget,
} from './kubevirt-faults.ts'
export type { SnapshotFault, SnapshotTarget } from './snapshotter.ts'
export { type TransferPlan, timedTransfer } from './timed-transfer.ts'
export { ImportFailure, type Transfer, type TransferJob } from './transfer.ts'
export type { WorkloadFault, WorkloadTarget } from './workload-faults.ts'

export interface SimulatorOptions extends CdiOptions, KubevirtOptions, WorkloadOptions {
  /** From a claim that can be provisioned to a bound one. */
  readonly provisionMs: number
  /** From a taken snapshot to a usable one. */
  readonly snapshotMs: number
}

/** Short delays, except for restarts after failures: those of importers are as in a kubelet, those of virtual machines as in KubeVirt. */
export const DEFAULT_OPTIONS: SimulatorOptions = {
  provisionMs: 20,
  scheduleMs: 20,
  snapshotMs: 100,
  podEndMs: 20,
  phaseLagMs: 50,
  progressMs: 2_000,
  scratchMs: 15,
  primeLingerMs: 300,
  needlessImporters: 0,
  leaseRenewMs: 2_000,
  retryMs: 1_000,
  retryMaxMs: 1_000_000,
  cloneMs: 100,
  prepareMs: 100,
  copyMs: 1_000,
  launchMs: 50,
  jobMs: 3_000,
  bootMs: 200,
  shutdownMs: 100,
  startBackoffMs: 10_000,
  startBackoffMaxMs: 300_000,
  sandboxRetryMs: 10_000,
  restartBaseMs: 10_000,
  restartMaxMs: 300_000,
}

export interface Simulators {
  readonly cdi: CdiSimulator
  readonly kubevirt: KubevirtSimulator
  readonly snapshotter: Snapshotter
  readonly storage: Storage
  readonly workloads: Workloads
  /** Ends all downloads and watches, and leaves the cluster as it is. New simulators continue from there. */
  stop(): Promise<void>
}

/**
 * Starts the systems that an operator depends on: CDI, KubeVirt, a scheduler and a kubelet for their pods and those of
 * Deployments, Multus, a provisioner and a snapshotter.
 */
export async function startSimulators(
  parts: WorldOptions & { readonly transfer: Transfer; readonly options?: Partial<SimulatorOptions> },
): Promise<Simulators> {
  const world = new World(parts)
  const options = { ...DEFAULT_OPTIONS, ...parts.options }
  const faults = new FaultScript(() => {
    cdi.wake()
    storage.wake()
  })
  const storage = new Storage(world, options.provisionMs, faults)
  const cdi: CdiSimulator = new CdiSimulator(world, options, parts.transfer, faults)
  const snapshotter = new Snapshotter(world, options.snapshotMs)
  const kubevirt = new KubevirtSimulator(world, options)
  const workloads = new Workloads(world, options)
  const simulators = [cdi, storage, snapshotter, kubevirt, ...(world.hasWorkloads ? [workloads] : [])]
  await world.start()
  if (world.hasWorkloads) await workloads.register()
  // Not before all caches are synced: in a partly filled cache, objects appear to be missing.
  for (const simulator of simulators) simulator.start()
  return {
    cdi,
    kubevirt,
    snapshotter,
    storage,
    workloads,
    async stop() {
      await Promise.all([world.stop(), ...simulators.map((simulator) => simulator.stop())])
    },
  }
}
