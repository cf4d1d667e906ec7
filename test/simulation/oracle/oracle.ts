import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Chronicle } from '../chronicle.ts'
import type { Disturbances } from '../disturbances.ts'
import type { Download } from '../downloads.ts'

/** Number of an invariant in the design; 0: something that all of them need, such as that the run ends. */
export type Invariant = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
/** Those that are promised: 0 is for what is wrong with a simulation itself. */
export const INVARIANTS = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const satisfies readonly Invariant[]

export interface Violation {
  readonly invariant: Invariant
  readonly message: string
  readonly atMs: number
}

/** What an oracle judges by, and where it says so. */
export interface Witness {
  readonly chronicle: Chronicle
  readonly disturbances: Disturbances
  readonly report: (invariant: Invariant, message: string) => void
}

/** Watches one promise. It is told of every commit, after the chronicle took it in. */
export interface Oracle {
  readonly onCommit: (commit: Commit) => void
  /** An importer begins a transfer, from the first byte. */
  readonly onTransfer?: (download: Download) => void
}

/** One that judges by what a witness has seen. */
export abstract class WitnessOracle<W> implements Oracle {
  protected readonly witness: W

  constructor(witness: W) {
    this.witness = witness
  }

  abstract onCommit(commit: Commit): void
}
