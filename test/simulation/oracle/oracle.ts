import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Chronicle } from '../chronicle.ts'
import type { Disturbances } from '../disturbances.ts'
import type { Download } from '../downloads.ts'

/** Number of an invariant in the design; 0: something that all of them need, such as that the run ends. */
export type Invariant = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
/** The invariants that the design promises. 0 is for errors of the simulation itself. */
export const INVARIANTS = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const satisfies readonly Invariant[]

export interface Violation {
  readonly invariant: Invariant
  readonly message: string
  readonly atMs: number
}

export function violationText({ invariant, message, atMs }: Violation): string {
  return `invariant ${invariant}, at ${Math.round(atMs)} ms: ${message}`
}

/** One violation a line. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations.map(violationText).join('\n')
}

/** What an oracle judges by, and where it reports. */
export interface Witness {
  readonly chronicle: Chronicle
  readonly disturbances: Disturbances
  readonly report: (invariant: Invariant, message: string) => void
}

/** Checks one promise. It is notified of every commit, after the chronicle has recorded it. */
export interface Oracle {
  readonly onCommit: (commit: Commit) => void
  /** Called when an importer begins a transfer, from the first byte. */
  readonly onTransfer?: (download: Download) => void
}

/** An oracle that judges by what a witness has observed. */
export abstract class WitnessOracle<W> implements Oracle {
  protected readonly witness: W

  constructor(witness: W) {
    this.witness = witness
  }

  abstract onCommit(commit: Commit): void
}
