import type { DataVolume } from './models.ts'
import { type Script, Scripts } from './scripts.ts'

/** In bytes of the image, or after the last byte. */
export type FaultMoment = number | 'end'

/** How a running importer container ends, other than by the result of its download. */
export type RunFault =
  /** Exits with code 1 and `message`. `hidden`: the controller never observes `terminated`, only CrashLoopBackOff. Default: at once. */
  | { readonly type: 'error'; readonly message?: string; readonly after?: FaultMoment; readonly hidden?: boolean }
  /** Killed by the kernel. CDI replaces the pod and counts no restart. Default: at the end. */
  | { readonly type: 'oomKilled'; readonly after?: FaultMoment }
  /** The whole pod fails and stays failed. Default: at once. */
  | { readonly type: 'evicted'; readonly after?: FaultMoment }
  /** Fatal: the DataVolume becomes Failed. Default: at the end. */
  | { readonly type: 'checksumMismatch'; readonly after?: FaultMoment }
  /** The first container run only finds that it needs scratch space. Default: at once. */
  | { readonly type: 'scratchSpaceRequired'; readonly after?: FaultMoment }
  /** Stops downloading without any error. Default: after the first byte, so that CDI knows its progress. */
  | { readonly type: 'stall'; readonly after?: FaultMoment }

/** A fault of an import or a clone that holds while the script is active. */
export type StateFault =
  | { readonly type: 'imagePull' }
  | { readonly type: 'unschedulable' }
  /** `of` is the object that the quota rejects. A real ResourceQuota works as well. */
  | { readonly type: 'quota'; readonly of: 'target' | 'prime' | 'pod' | 'scratch' }
  /** The prime claim gets no volume. */
  | { readonly type: 'unprovisioned' }
  /** A deleted importer pod takes `delayMs` to end. `downloading`: it keeps downloading until then. */
  | { readonly type: 'slowEnd'; readonly delayMs: number; readonly downloading?: boolean }
  /** CDI is killed, or its request fails, between the two writes that end an import: its pod stays. */
  | { readonly type: 'forgottenImporter' }
  /**
   * CDI sees the claim of a finished import later than the end of its importer, makes one more, and deletes that before its container starts. `hangs`: it
   * does not delete it. Without this fault, it happens to as many imports as the option `needlessImporters` says.
   */
  | { readonly type: 'needlessImporter'; readonly hangs?: boolean }
  /** Clones show this error. `fatal`: they become Failed. */
  | { readonly type: 'cloneError'; readonly message: string; readonly fatal?: boolean }
  /** Clones take `delayMs` longer. */
  | { readonly type: 'slowClone'; readonly delayMs: number }
  /** Clones start and never finish. */
  | { readonly type: 'cloneStalls' }

export type Fault = RunFault | StateFault

/** The DataVolumes that a script applies to. All given fields must match. `image` is the URL. */
export type Target =
  | ((dataVolume: DataVolume) => boolean)
  | { readonly namespace?: string; readonly name?: string; readonly image?: string }

export interface ScriptOptions {
  /** Affects only the first `times` container runs of each DataVolume name. Ignored for a {@link StateFault}. */
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

/** The active faults of downloads and clones. */
export class FaultScript {
  readonly #scripts: Scripts<Target, Fault>

  constructor(onChange: () => void) {
    this.#scripts = new Scripts(onChange)
  }

  /** Returns a function that ends the script. What the script held up then continues. */
  add(target: Target, fault: Fault, options: ScriptOptions = {}): () => void {
    // A container finds only once that it needs scratch space. The next one has it and continues.
    return this.#scripts.add(target, fault, options.times ?? (fault.type === 'scratchSpaceRequired' ? 1 : undefined))
  }

  /** Returns the active state fault of one type for this DataVolume. */
  state<K extends StateFault['type']>(
    type: K,
    dataVolume: DataVolume | undefined,
  ): (StateFault & { type: K }) | undefined {
    if (dataVolume === undefined) return undefined
    const found = this.#scripts.find(({ target, fault }) => fault.type === type && matches(target, dataVolume))
    return found as (StateFault & { type: K }) | undefined
  }

  quota(of: (StateFault & { type: 'quota' })['of'], dataVolume: DataVolume): boolean {
    const found = this.#scripts.find(
      ({ target, fault }) => fault.type === 'quota' && fault.of === of && matches(target, dataVolume),
    )
    return found !== undefined
  }

  /** Returns the fault for the container run that starts now, and counts the run. */
  takeRun(dataVolume: DataVolume): RunFault | undefined {
    const isMet = ({ target, fault }: Script<Target, Fault>) =>
      RUN_FAULTS.has(fault.type) && matches(target, dataVolume)
    return this.#scripts.take(`${dataVolume.metadata.namespace}/${dataVolume.metadata.name}`, isMet) as
      | RunFault
      | undefined
  }
}

/** Returns when a fault strikes: `after`, or the default of its type. */
export function momentOf(fault: RunFault): FaultMoment {
  if (fault.after !== undefined) return fault.after
  if (fault.type === 'stall') return 1
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
