import type { IConstruct } from 'constructs'
import { isJsonObject } from '../schema/json-object.ts'

/** Whether a value has fields, as props have. Programs of JavaScript may give anything. */
export function hasFields(value: unknown): value is object {
  return isJsonObject(value)
}

/**
 * Checks the props of a part.
 * @param example of props that it needs, such as { size: '1Gi' }
 * @throws Error with the path, if they are no object
 */
export function requireProps(part: IConstruct, props: unknown, example: string): void {
  if (!hasFields(props))
    throw new Error(`${part.node.path}: its props must be an object with fields, such as ${example}`)
}

/** Returns the items of a list as the spec has them. What is no list, or an item without fields, stays: the schema says what is wrong with it. */
export function eachAs<Item>(given: readonly Item[], toSpec: (item: Item) => unknown): unknown {
  const list: unknown = given
  return Array.isArray(list) ? list.map((one) => (hasFields(one) ? toSpec(one as Item) : one)) : list
}

/** Returns the entries of an object as a list of the spec. What is no object stays: the schema says what is wrong with it. */
export function entriesAs<Value>(
  given: Readonly<Record<string, Value>>,
  toSpec: (name: string, value: Value) => object,
): unknown {
  return hasFields(given) ? Object.entries(given).map(([name, value]) => toSpec(name, value as Value)) : given
}

/** Returns the names of members as the spec has them. */
export function namesOf(members: readonly { readonly memberName: string }[]): unknown {
  return Array.isArray(members) ? members.map((one) => one?.memberName) : members
}

/** Returns the items of a list that are to be looked at before the schema is: none, if it is no list. */
export function itemsOf<Item>(given: readonly Item[] | undefined): readonly Item[] {
  return Array.isArray(given) ? given : []
}

/** Reports whether a prop is given. JSON, and what others read from it, has null for what is not. */
export function isGiven<T>(value: T): value is Exclude<T, undefined | null> {
  return value !== undefined && value !== null
}
