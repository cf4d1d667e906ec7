import { z } from 'zod'

export const INTERNET_ACCESS = ['Disabled', 'Enabled'] as const

/** Whether members reach public addresses over the pod network. Absent means Disabled. */
export const internetAccessField = z
  .enum(INTERNET_ACCESS)
  .describe(
    'Enabled: members on the pod network reach public addresses. The policy key allowInternetAccess must be true. Default: Disabled.',
  )
  .optional()

/** Reports whether a spec asks for access to the internet. */
export function asksForInternet({
  internetAccess,
}: {
  readonly internetAccess?: (typeof INTERNET_ACCESS)[number] | undefined
}): boolean {
  return internetAccess === 'Enabled'
}
