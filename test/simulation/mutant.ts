import type { Invariant } from './oracle/oracle.ts'
import type { Seam } from './seam.ts'
import type { Kind } from './story.ts'

/** A deliberate defect of the product: an export of one of its modules is replaced for all modules that import it. */
export interface Mutant {
  readonly name: string
  /** The invariant that it breaks. The first oracle to notice can be that of another invariant. */
  readonly invariant: Invariant
  readonly alsoCaughtAs?: readonly Invariant[]
  readonly seam: Seam
  /** The kind of schedules that must detect it. */
  readonly kind: Kind
  /**
   * Seed of a schedule that detects it, which is run first: for mutants that schedules with low seeds do not detect. When schedules change, this one may
   * detect it no more, and the test takes longer: `mutant-process.ts NAME SEEDS` prints the seed to write here.
   */
  readonly seed?: number
}
