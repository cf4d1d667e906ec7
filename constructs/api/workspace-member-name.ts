import type { z } from 'zod'
import { cel, dnsLabel } from './shared.ts'

/** Groups that every Ansible inventory has: a play for a host of that name would be one for all hosts. */
const GROUPS = ['all', 'ungrouped']

/** Name of a machine or of a container cluster, which is a host of the inventory as well. */
export function memberName(): z.ZodString {
  return cel(dnsLabel(), {
    rule: `!(self in [${GROUPS.map((group) => `'${group}'`).join(', ')}])`,
    message: `name must not be ${GROUPS.join(' or ')}: these are groups of every Ansible inventory`,
    holds: (name: string) => !GROUPS.includes(name),
  })
}
