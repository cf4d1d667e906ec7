import { z } from 'zod'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'

/** How a new version of a lab reaches machines that exist. */
export const UPDATE_STRATEGIES = ['OnRequest', 'Recreate'] as const

export const updateStrategyField = z
  .object({
    type: z
      .enum(UPDATE_STRATEGIES)
      .describe(
        'OnRequest: a disk is replaced only when somebody asks for it. Recreate: machines whose spec changed get new disks one after the other, which loses the data on the old ones. Default: OnRequest.',
      )
      .optional(),
    maxUnavailable: z
      .int()
      .min(1)
      .max(WORKSPACE_LIMITS.vms)
      .describe('With Recreate: how many machines may be not Ready at once. Default: 1.')
      .meta({ example: 2 })
      .optional(),
  })
  .describe('How a new version reaches machines that exist. Default: OnRequest.')
  .optional()
