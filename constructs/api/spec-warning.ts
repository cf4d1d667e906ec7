import type { VirtualMachineReason } from './virtual-machine-reasons.ts'

/** Something in a spec that is accepted, but not applied as written. */
export interface SpecWarning {
  readonly reason: VirtualMachineReason
  /** A sentence for people. Never contains a password. */
  readonly message: string
}
