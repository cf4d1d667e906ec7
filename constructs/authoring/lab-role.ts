/** An Ansible role, with its variables. Teams define those that they use once, with `defineRole`. */
export interface LabRole {
  /** Name of the role, such as linuxRouter. */
  readonly role: string
  /** Variables of the role: any values, which are kept as they are. Default: none. */
  readonly variables?: Readonly<Record<string, unknown>>
}

/** Returns the role with variables. They may be left out if none must be given. */
export type DefinedRole<Variables extends object> =
  Record<never, never> extends Variables ? (variables?: Variables) => LabRole : (variables: Variables) => LabRole

/**
 * Defines an Ansible role once, with the types of its variables: `const router = defineRole<{ enable_nat: boolean }>('linuxRouter')`, and
 * `build: [router({ enable_nat: true })]`.
 * @typeParam Variables its variables
 * @param role name of the role, such as linuxRouter
 * @param defaults variables that are given unless somebody gives others. Whoever uses a role with defaults for all may leave out any. Default: none
 */
export function defineRole<Variables extends object = Record<string, unknown>>(
  role: string,
  defaults: Variables,
): (variables?: Partial<Variables>) => LabRole
/**
 * Defines an Ansible role that has no defaults, or defaults for some of its variables: whoever uses it gives the variables that must be given.
 * @typeParam Variables its variables
 * @param role name of the role, such as linuxRouter
 * @param defaults variables that are given unless somebody gives others. Default: none
 */
export function defineRole<Variables extends object = Record<string, unknown>>(
  role: string,
  defaults?: Partial<Variables>,
): DefinedRole<Variables>
export function defineRole<Variables extends object = Record<string, unknown>>(
  role: string,
  defaults: Partial<Variables> = {},
): DefinedRole<Variables> {
  return ((given?: Variables): LabRole => {
    const variables = { ...defaults, ...given }
    return Object.keys(variables).length === 0 ? { role } : { role, variables: variables as Record<string, unknown> }
  }) as DefinedRole<Variables>
}
