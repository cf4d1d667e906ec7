import { z } from 'zod'
import { cel, dnsLabel } from './shared.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'

/** Groups of every Ansible inventory. A play for a host with such a name would be one for all hosts. */
const GROUPS = ['all', 'ungrouped']

/** Name of a machine or a container cluster, which is also a host of the Ansible inventory. */
export function memberName(): z.ZodString {
  return cel(dnsLabel(), {
    rule: `!(self in [${GROUPS.map((group) => `'${group}'`).join(', ')}])`,
    message: `name must not be ${GROUPS.join(' or ')}: these are groups of every Ansible inventory`,
    holds: (name: string) => !GROUPS.includes(name),
  })
}

/** Whether they are host names, and of no other member, the operator says: the API server has no budget left for such rules. */
export const aliasesField = z
  .array(z.string().max(253).describe('Host name.').meta({ example: 'www' }))
  .max(WORKSPACE_LIMITS.aliases)
  .describe('Further names that it is known by with names: hosts.')
  .optional()

/** Who has to be Ready before a member is created. Whether they exist, and wait for each other, the operator says. */
export const dependsOnField = z
  .array(z.string().max(63).describe('Its name.').meta({ example: 'router' }))
  .max(WORKSPACE_LIMITS.dependsOn)
  .describe('Members that must be Ready before it is created.')
  .optional()
