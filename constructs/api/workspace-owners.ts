import { z } from 'zod'
import { cel } from './shared.ts'

/** Most owners of one workspace. */
const OWNERS_MAX = 32
const NAME_MAX = 253
/** Begins the names of users and groups of Kubernetes itself, ServiceAccounts among them. */
const OF_KUBERNETES = 'system:'

const owner = z
  .object({
    kind: z.enum(['User', 'Group']).describe('What the name is of.'),
    name: cel(z.string().min(1).max(NAME_MAX), {
      rule: `!self.startsWith('${OF_KUBERNETES}')`,
      message: `must not begin with ${OF_KUBERNETES}: such users and groups are of Kubernetes, ServiceAccounts among them`,
      holds: (name) => !name.startsWith(OF_KUBERNETES),
    }).describe(
      'Name as the API server knows it, such as alice@example.com, or that of a group of the identity provider.',
    ),
  })
  .describe('One user, or one group of users.')

export const owners = z
  .array(owner)
  .max(OWNERS_MAX)
  .describe(
    'Who works in the workspace. They may see what is in its namespace, use consoles and shells, have its machines and containers started again, and create and delete Secrets there. ' +
      'Of those who may write workspaces, only they and administrators may then change or delete this one. Default: nobody gets rights.',
  )
