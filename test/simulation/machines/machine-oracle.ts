import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Disturbances } from '../disturbances.ts'
import type { Invariant } from '../oracle/oracle.ts'
import type { MachineChronicle } from './machine-chronicle.ts'

/** What an oracle of machines judges by, and where it says so. */
export interface MachineWitness {
  readonly chronicle: MachineChronicle
  readonly disturbances: Disturbances
  readonly report: (invariant: Invariant, message: string) => void
}

/** Watches one promise. It is told of every commit, after the chronicle took it in. */
export interface MachineOracle {
  readonly onCommit: (commit: Commit) => void
}
