import type { DataVolume } from './models.ts'
import { type Script, Scripts } from './scripts.ts'

/** Counted in bytes of the image, or after the last one. */
export type FaultMoment = number | 'end'

/** How a running importer container ends otherwise than its download says. */
export type RunFault =
  /** Exit 1 with `message`. `hidden`: the controller never sees `terminated`, only CrashLoopBackOff. Default: at once. */
  | { readonly type: 'error'; readonly message?: string; readonly after?: FaultMoment; readonly hidden?: boolean }
  /** Killed by the kernel; CDI replaces the pod, and no restart is counted. Default: at the end. */
  | { readonly type: 'oomKilled'; readonly after?: FaultMoment }
  /** The pod fails as a whole and stays like that. Default: at once. */
  | { readonly type: 'evicted'; readonly after?: FaultMoment }
  /** Fatal: the DataVolume becomes Failed. Default: at the end. */
  | { readonly type: 'checksumMismatch'; readonly after?: FaultMoment }
  /** The first container only finds that it needs scratch space. Default: at once. */
  | { readonly type: 'scratchSpaceRequired'; readonly after?: FaultMoment }
  /** Downloads no more, and says nothing. Default: at once. */
  | { readonly type: 'stall'; readonly after?: FaultMoment }

/** What holds for an import or a clone as long as the script lasts. */
export type StateFault =
  | { readonly type: 'imagePull' }
  | { readonly type: 'unschedulable' }
  /** Which object the quota refuses. A real ResourceQuota works as well. */
  | { readonly type: 'quota'; readonly of: 'target' | 'prime' | 'pod' }
  /** The prime claim gets no volume. */
  | { readonly type: 'unprovisioned' }
  /** A deleted importer pod takes so long to end. `downloading`: and goes on downloading until then. */
  | { readonly type: 'slowEnd'; readonly delayMs: number; readonly downloading?: boolean }
  /** Clones show this error; `fatal`: they are Failed. */
  | { readonly type: 'cloneError'; readonly message: string; readonly fatal?: boolean }
  /** Clones take so much longer. */
  | { readonly type: 'slowClone'; readonly delayMs: number }
  /** Clones begin, and never end. */
  | { readonly type: 'cloneStalls' }

export type Fault = RunFault | StateFault

/** Which DataVolumes a script is about. Everything that is given must be equal; `image` is the URL. */
export type Target =
  | ((dataVolume: DataVolume) => boolean)
  | { readonly namespace?: string; readonly name?: string; readonly image?: string }

export interface ScriptOptions {
  /** Strike only the first so many container runs of each DataVolume name. Without meaning for a {@link StateFault}. */
  readonly times?: number
}

const RUN_FAULTS: ReadonlySet<Fault['type']> = new Set<RunFault['type']>([
  'error',
  'oomKilled',
  'evicted',
  'checksumMismatch',
  'scratchSpaceRequired',
  'stall',
])

/** The faults of downloads and clones that are in force. */
export class FaultScript {
  readonly #scripts: Scripts<Target, Fault>

  constructor(onChange: () => void) {
    this.#scripts = new Scripts(onChange)
  }

  /** Returns how to end the script: what it held up goes on. */
  add(target: Target, fault: Fault, options: ScriptOptions = {}): () => void {
    // A container finds out once that it needs scratch space; with it, the next one goes on.
    return this.#scripts.add(target, fault, options.times ?? (fault.type === 'scratchSpaceRequired' ? 1 : undefined))
  }

  /** The state fault of one type that holds for this DataVolume now. */
  state<K extends StateFault['type']>(
    type: K,
    dataVolume: DataVolume | undefined,
  ): (StateFault & { type: K }) | undefined {
    if (dataVolume === undefined) return undefined
    const found = this.#scripts.find(({ target, fault }) => fault.type === type && matches(target, dataVolume))
    return found as (StateFault & { type: K }) | undefined
  }

  quota(of: 'target' | 'prime' | 'pod', dataVolume: DataVolume): boolean {
    const found = this.#scripts.find(
      ({ target, fault }) => fault.type === 'quota' && fault.of === of && matches(target, dataVolume),
    )
    return found !== undefined
  }

  /** The fault that the container run which starts now will meet. Counts it. */
  takeRun(dataVolume: DataVolume): RunFault | undefined {
    const isMet = ({ target, fault }: Script<Target, Fault>) =>
      RUN_FAULTS.has(fault.type) && matches(target, dataVolume)
    return this.#scripts.take(`${dataVolume.metadata.namespace}/${dataVolume.metadata.name}`, isMet) as
      | RunFault
      | undefined
  }
}

/** When a fault strikes that does not say so itself. */
export function momentOf(fault: RunFault): FaultMoment {
  if (fault.after !== undefined) return fault.after
  return fault.type === 'checksumMismatch' || fault.type === 'oomKilled' ? 'end' : 0
}

function matches(target: Target, dataVolume: DataVolume): boolean {
  if (typeof target === 'function') return target(dataVolume)
  const { namespace, name } = dataVolume.metadata
  if (target.namespace !== undefined && target.namespace !== namespace) return false
  if (target.name !== undefined && target.name !== name) return false
  if (target.image === undefined) return true
  return Object.values(dataVolume.spec.source ?? {}).some((source) => source.url === target.image)
}
