import { z } from 'zod'
import type { CelRule } from '../schema/cel.ts'

export const INSTANCETYPE_KINDS = ['VirtualMachineClusterInstancetype', 'VirtualMachineInstancetype'] as const
export const PREFERENCE_KINDS = ['VirtualMachineClusterPreference', 'VirtualMachinePreference'] as const

function matcher<const Kinds extends readonly [string, string]>(kinds: Kinds, what: string, more: string) {
  return z
    .object({
      // KubeVirt says so if there is none of this name.
      name: z.string().min(1).max(253).describe('Its name.').meta({ example: 'u1.medium' }),
      kind: z
        .enum(kinds)
        .describe(`${kinds[1]} is one of the namespace of the machine. Default: ${kinds[0]}.`)
        .optional(),
    })
    .describe(`${what} of KubeVirt. ${more} Default: none.`)
    .optional()
}

/** What KubeVirt completes a machine with. The fields are the same for a machine and for one of a workspace. */
export const matcherFields = {
  instancetype: matcher(
    INSTANCETYPE_KINDS,
    'Instance type',
    'It gives the machine CPU and memory, in place of resources.',
  ),
  preference: matcher(PREFERENCE_KINDS, 'Preference', 'It gives the machine what the spec does not say.'),
}

/** Returns the kind of what a word names: without one, the default of KubeVirt. */
export function matcherKind(word: keyof typeof matcherFields, kind: string | undefined): string {
  return kind ?? (word === 'instancetype' ? INSTANCETYPE_KINDS : PREFERENCE_KINDS)[0]
}

interface Sized {
  readonly instancetype?: object | undefined
  readonly resources?: { readonly cpu?: string | undefined; readonly memory?: string | undefined } | undefined
}

const MESSAGE = 'resources must have cpu and memory, or neither of them where instancetype is set, which gives both'

/** KubeVirt refuses a machine whose CPU or memory come from two places. */
export const sizedOnce: CelRule<Sized> = {
  rule:
    'has(self.instancetype) ? !has(self.resources) || !has(self.resources.cpu) && !has(self.resources.memory) : ' +
    'has(self.resources) && has(self.resources.cpu) && has(self.resources.memory)',
  message: MESSAGE,
  field: 'resources',
  holds: ({ instancetype, resources: { cpu, memory } = {} }) =>
    instancetype === undefined ? cpu !== undefined && memory !== undefined : cpu === undefined && memory === undefined,
}
