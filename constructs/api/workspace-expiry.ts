import { z } from 'zod'
import { dateTime, duration, matching } from './shared.ts'

/** What happens to a lab at its end. The default is Halt. */
export const EXPIRY_ACTIONS = ['Halt', 'Delete'] as const
export type ExpiryAction = (typeof EXPIRY_ACTIONS)[number]

/** Where the end of a lab comes from: a field of its spec, or the policy keys `workspaceLifetime` and `workspaceLifetimeMax`. */
export const EXPIRY_SOURCES = ['expiresAt', 'lifetime', 'policy'] as const
export type ExpirySource = (typeof EXPIRY_SOURCES)[number]

/** Pattern of a time in RFC 3339, for the API server and for people without one: every match is a time that `Date.parse` reads. */
const TIME_PATTERN =
  '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$'

/** Fields of the spec that give a lab an end. `expiresAt` comes before `lifetime`, so that a patch of it alone extends any lab. */
export const expiryFields = {
  lifetime: duration()
    .describe(
      'How long the workspace lasts, from its creation, or from a later change of this. expiresAt comes first. Default: the policy key workspaceLifetime.',
    )
    .meta({ example: '72h' })
    .optional(),
  expiresAt: matching(z.string().max(40), TIME_PATTERN, 'must be a time such as 2026-01-31T18:00:00Z')
    .describe('When the workspace ends, such as 2026-01-31T18:00:00Z. A later time extends it.')
    .optional(),
  onExpiry: z
    .enum(EXPIRY_ACTIONS)
    .describe(
      'What happens at the end that lifetime or expiresAt gives. Halt: it is switched off, as by powerState. Delete: it is deleted with its disks and volumes. Default: Halt.',
    )
    .optional(),
}

/** Fields of the status. */
export const expiryStatusFields = {
  expiresAt: dateTime('When the workspace ends. Absent where it has no end.').optional(),
  expiry: z
    .object({
      source: z.enum(EXPIRY_SOURCES).describe('What gave the end: expiresAt, lifetime, or policy.'),
      value: z.string().max(64).describe('Its value at that time.'),
      announced: z.enum(EXPIRY_ACTIONS).describe('What the warning says, once it is there.').optional(),
      noticeTime: dateTime("When the warning was there, by the API server's clock.").optional(),
      limited: z.boolean().describe('It is what the policy key workspaceLifetimeMax gives at most.').optional(),
      ended: z.boolean().describe('It is over, and the workspace is off.').optional(),
    })
    .describe('Where the end comes from, and how far it is.')
    .optional(),
}
