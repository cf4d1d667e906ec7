import { z } from 'zod'
import { maybeFlag } from './shared.ts'

export const FIRMWARES = ['bios', 'uefi', 'uefi-secure'] as const

/** What the guest finds at its start. The fields are the same for a machine and for one of a workspace. */
export const hardwareFields = {
  firmware: z
    .enum(FIRMWARES)
    .describe(
      'How the guest starts. bios. uefi. uefi-secure: with Secure Boot. An image that was installed with one of bios and uefi does not start with the other. A change takes effect at the next start. Default: as KubeVirt has it, which is bios.',
    )
    .optional(),
  tpm: maybeFlag(
    'True: the guest has a TPM 2.0, as Windows 11 needs it. What is in it does not outlive a stop. Default: none.',
  ),
}
