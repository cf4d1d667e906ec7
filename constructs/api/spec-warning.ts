import type { VIRTUAL_MACHINE_CONDITION_RULES } from './virtual-machine-status.ts'

/** Something in a spec that is accepted, but not applied as written. */
export interface SpecWarning {
  readonly reason: (typeof VIRTUAL_MACHINE_CONDITION_RULES.SpecWarning.reasons)[number]
  /** A sentence for people. Never contains a password. */
  readonly message: string
}
