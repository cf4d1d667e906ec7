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
 * @param defaults values of variables that a use of the role does not set. If all have one, a use may leave out any of them. Default: none
 */
export function defineRole<Variables extends object = Record<string, unknown>>(
  role: string,
  defaults: Variables,
): (variables?: Partial<Variables>) => LabRole
/** Without defaults, or with defaults for some variables, each use of the role sets all variables that are required. */
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
