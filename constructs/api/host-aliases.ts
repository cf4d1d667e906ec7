import { z } from 'zod'
import { addressField } from './address-fields.ts'
import { DNS_SUBDOMAIN, matching } from './shared.ts'

/** Lines that a guest gets. Those beyond are left out of the machines of a Workspace. */
export const HOST_ALIASES_MAX = 512

const hostAlias = z
  .object({
    ip: addressField('ip').describe('IPv4 or IPv6 address.').meta({ example: '10.10.0.11' }),
    hostnames: z
      .array(
        matching(
          z.string().min(1).max(253),
          DNS_SUBDOMAIN,
          'must be a host name: lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
        )
          .describe('One host name.')
          .meta({ example: 'dc1.example.com' }),
      )
      .min(1)
      .max(4)
      .describe('Names of that address.'),
  })
  .describe('One line of /etc/hosts.')

/** Names of other hosts, in the words of a Kubernetes pod. */
export const hostAliasesField = z
  .array(hostAlias)
  .max(HOST_ALIASES_MAX)
  .describe(
    'Lines that cloud-init adds to /etc/hosts at each start of the guest. What the guest has there stays. A change restarts nothing: the guest reads it at its next start. Default: none.',
  )
  .optional()

export type HostAlias = z.output<typeof hostAlias>
