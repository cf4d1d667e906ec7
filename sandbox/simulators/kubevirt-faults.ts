import { keyOf } from '../../operator/kube/kube-object.ts'
import type { Instance, Machine } from './kubevirt-models.ts'
import { Scripts } from './scripts.ts'

/** A fault that keeps a virtual machine from running while the script is active. */
export type MachineStateFault =
  /** The creation of the instance is rejected: the machine stays `Stopped`, with `Failure` `FailedCreate`. */
  | { readonly type: 'instanceRefused'; readonly message: string }
  /** The launcher pod is rejected, as by a quota: `Synchronized` False `FailedCreate`. A real ResourceQuota works as well. */
  | { readonly type: 'podRefused'; readonly message: string }
  /** `ErrorUnschedulable`. */
  | { readonly type: 'unschedulable'; readonly message?: string }
  /** `ErrImagePull`, then `ImagePullBackOff`. */
  | { readonly type: 'imagePull' }
  /**
   * The container never starts: the machine stays `Starting`, and only events of the pod show why. There is one event for
   * each try, with this reason (default `FailedCreatePodSandBox`). `<id>` in the message is another ID in each event.
   */
  | { readonly type: 'notCreated'; readonly message: string; readonly reason?: string; readonly everyMs?: number }
  /** The guest hangs: it runs, is not ready, and its agent does not respond. */
  | { readonly type: 'neverReady' }
  /** The guest works, as its agent shows. Only its pod is not ready. */
  | { readonly type: 'podUnready' }
  /** The guest has no agent: nothing but its pod shows that it works. */
  | { readonly type: 'noAgent' }
  /** The guest runs, and does not answer its readiness probe. Without a probe, nothing shows that. */
  | { readonly type: 'noAnswer' }
  /** The CPUs of the guest are paused, by a person, a storage error or a migration. */
  | { readonly type: 'paused'; readonly reason: PauseReason }
  /** The node is lost without notice: the pod stays Terminating, and the instance still shows Running. */
  | { readonly type: 'nodeLost' }
  /** The guest migrates while this lasts. At the end it has the CPUs and the memory that it waited for. */
  | { readonly type: 'migrating' }
  /** The guest takes `delayMs` longer until it runs. */
  | { readonly type: 'slowStart'; readonly delayMs: number }

/** What paused a guest, with the messages of virt-handler. Any other pause of libvirt sets no condition. */
export const PAUSES = {
  PausedByUser: 'VMI was paused by user',
  PausedIOError: 'VMI was paused, low-level IO error detected',
  PausedByMigrationMonitor: 'VMI was paused by the migration monitor',
} as const
export type PauseReason = keyof typeof PAUSES

/** How one start of a virtual machine ends. */
export type MachineRunFault =
  /** The launcher pod fails before its guest runs: a crash loop. */
  | { readonly type: 'launcherFails' }
  /** The guest shuts down `afterMs` after it started to run. Default: at once. */
  | { readonly type: 'guestShutdown'; readonly afterMs?: number }
  /** The guest crashes `afterMs` after it started to run. Default: at once. */
  | { readonly type: 'guestCrash'; readonly afterMs?: number }

export type MachineFault = MachineStateFault | MachineRunFault

/** The virtual machines that a script applies to. All given fields must match. */
export type MachineTarget = { readonly namespace?: string; readonly name?: string }

export interface MachineScriptOptions {
  /** Affects only the first `times` starts of each name. Ignored for a {@link MachineStateFault}. */
  readonly times?: number
}

/** The active faults of virtual machines. */
export class MachineFaults {
  readonly #scripts: Scripts<MachineTarget, MachineFault>

  constructor(onChange: () => void) {
    this.#scripts = new Scripts(onChange)
  }

  /** Returns a function that ends the script. What the script held up then continues. */
  add(target: MachineTarget, fault: MachineFault, { times }: MachineScriptOptions = {}): () => void {
    return this.#scripts.add(target, fault, times)
  }

  state<K extends MachineStateFault['type']>(
    type: K,
    machine: Machine | Instance,
  ): (MachineStateFault & { type: K }) | undefined {
    const found = this.#scripts.find(({ target, fault }) => fault.type === type && matches(target, machine))
    return found as (MachineStateFault & { type: K }) | undefined
  }

  /** Returns the fault of one of these types for this start, and counts the start. */
  take<K extends MachineRunFault['type']>(
    types: readonly K[],
    machine: Machine | Instance,
  ): (MachineRunFault & { type: K }) | undefined {
    const found = this.#scripts.take(
      keyOf(machine.metadata),
      ({ target, fault }) => (types as readonly string[]).includes(fault.type) && matches(target, machine),
    )
    return found as (MachineRunFault & { type: K }) | undefined
  }
}

/** Reports whether a guest answers its readiness probe, as far as it has one. Over the agent it does not without one. */
export function answersProbe(instance: Instance, faults: MachineFaults): boolean {
  const { readinessProbe: probe } = instance.spec
  if (probe === undefined) return true
  const isByAgent = probe.tcpSocket === undefined
  return !faults.state('noAnswer', instance) && !(isByAgent && faults.state('noAgent', instance))
}

function matches(target: MachineTarget, { metadata }: Machine | Instance): boolean {
  return (
    (target.namespace === undefined || target.namespace === metadata.namespace) &&
    (target.name === undefined || target.name === metadata.name)
  )
}
