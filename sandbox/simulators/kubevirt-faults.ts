import { keyOf } from '../../operator/kube/kube-object.ts'
import type { Instance, Machine } from './kubevirt-models.ts'
import { Scripts } from './scripts.ts'

/** What keeps a virtual machine from running, as long as the script lasts. */
export type MachineStateFault =
  /** The instance is refused at its creation: the machine stays `Stopped`, with `Failure` `FailedCreate`. */
  | { readonly type: 'instanceRefused'; readonly message: string }
  /** The launcher pod is refused, as by a quota: `Synchronized` False `FailedCreate`. A real ResourceQuota works as well. */
  | { readonly type: 'podRefused'; readonly message: string }
  /** `ErrorUnschedulable`. */
  | { readonly type: 'unschedulable'; readonly message?: string }
  /** `ErrImagePull`, then `ImagePullBackOff`. */
  | { readonly type: 'imagePull' }
  /**
   * The container never starts: `Starting` for ever, only events of the pod tell why: one for each try, with this reason (default
   * `FailedCreatePodSandBox`). `<id>` in the message is another id in each.
   */
  | { readonly type: 'notCreated'; readonly message: string; readonly reason?: string; readonly everyMs?: number }
  /** The guest hangs: it runs, is not ready, and its agent is silent. */
  | { readonly type: 'neverReady' }
  /** The guest works, as its agent shows; only its pod is not ready. */
  | { readonly type: 'podUnready' }
  /** Its CPUs stand still: a person, an error of its storage or a migration did that. */
  | { readonly type: 'paused'; readonly reason: PauseReason }
  /** Its node is gone without a word: the pod is Terminating for ever, and the instance says Running. */
  | { readonly type: 'nodeLost' }
  /** The guest takes so much longer to run. */
  | { readonly type: 'slowStart'; readonly delayMs: number }

/** By whom or what a guest is paused, in the words of virt-handler. Any other pause of libvirt is no condition at all. */
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
  /** The guest shuts itself down so long after it began to run. Default: at once. */
  | { readonly type: 'guestShutdown'; readonly afterMs?: number }
  /** The guest crashes so long after it began to run. Default: at once. */
  | { readonly type: 'guestCrash'; readonly afterMs?: number }

export type MachineFault = MachineStateFault | MachineRunFault

/** Which virtual machines a script is about. Everything that is given must be equal. */
export type MachineTarget = { readonly namespace?: string; readonly name?: string }

export interface MachineScriptOptions {
  /** Strike only the first so many starts of each name. Without meaning for a {@link MachineStateFault}. */
  readonly times?: number
}

/** The faults of virtual machines that are in force. */
export class MachineFaults {
  readonly #scripts: Scripts<MachineTarget, MachineFault>

  constructor(onChange: () => void) {
    this.#scripts = new Scripts(onChange)
  }

  /** Returns how to end the script: what it held up goes on. */
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

  /** The fault of one of these types that this start will meet. Counts it. */
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

function matches(target: MachineTarget, { metadata }: Machine | Instance): boolean {
  return (
    (target.namespace === undefined || target.namespace === metadata.namespace) &&
    (target.name === undefined || target.name === metadata.name)
  )
}
