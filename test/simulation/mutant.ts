import type { Invariant } from './oracle/oracle.ts'
import type { Kind } from './story.ts'

/** A deliberate break of the product: one text in one file, replaced when the file is loaded. */
export interface Mutant {
  readonly name: string
  /** The promise that it breaks; the first oracle to notice may be that of another one. */
  readonly invariant: Invariant
  readonly alsoCaughtAs?: readonly Invariant[]
  /** Relative to the repository. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** Schedules in which it has to show. */
  readonly kind: Kind
}
