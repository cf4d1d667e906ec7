import type { Invariant } from './oracle/oracle.ts'
import type { Seam } from './seam.ts'
import type { Kind } from './story.ts'

/** A deliberate break of the product: something that one of its modules exports is another thing for all others. */
export interface Mutant {
  readonly name: string
  /** The promise that it breaks; the first oracle to notice may be that of another one. */
  readonly invariant: Invariant
  readonly alsoCaughtAs?: readonly Invariant[]
  readonly seam: Seam
  /** Schedules in which it has to show. */
  readonly kind: Kind
}
