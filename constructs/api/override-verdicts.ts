/**
 * What may be overridden: a tree with the names of fields, of which each has a verdict. It is an allow-list. A field that is not in it, such as one of a later
 * version of KubeVirt, is refused.
 */
export type OverrideNode =
  /** A text, a number or a boolean. */
  | { readonly kind: 'value' }
  /** True: false is the same as nothing, and Kubernetes leaves it out. */
  | { readonly kind: 'switch' }
  /** A value that is a quantity: `2048Mi` and `2Gi` are the same. */
  | { readonly kind: 'quantity' }
  /** A whole number within these bounds. */
  | { readonly kind: 'number'; readonly least: number; readonly most: number }
  /** Refused with all that is below it, whatever the policy says. */
  | { readonly kind: 'never'; readonly because: string }
  /** An object. Without fields it sets nothing and is refused, unless its presence says something. */
  | {
      readonly kind: 'fields'
      readonly fields: Readonly<Record<string, OverrideNode>>
      readonly mayBeEmpty?: true
    }
  /** A list that is overridden as a whole. */
  | { readonly kind: 'list'; readonly item: OverrideNode }
  /** A list whose items are known by one of their fields, and are merged over those of the operator. An override adds none to `rendered` ones. */
  | {
      readonly kind: 'items'
      readonly key: string
      readonly item: OverrideFields
      readonly among: 'rendered' | 'any'
    }

type OverrideFields = Extract<OverrideNode, { kind: 'fields' }>

export const VALUE: OverrideNode = { kind: 'value' }
export const SWITCH: OverrideNode = { kind: 'switch' }
export const AMOUNT: OverrideNode = { kind: 'quantity' }

export function never(because: string): OverrideNode {
  return { kind: 'never', because }
}

export function fieldsOf(fields: Readonly<Record<string, OverrideNode>> = {}): OverrideFields {
  return { kind: 'fields', fields }
}

/** An object that says something by being there. */
export function presenceOf(fields: Readonly<Record<string, OverrideNode>> = {}): OverrideFields {
  return { kind: 'fields', fields, mayBeEmpty: true }
}

export function between(least: number, most: number): OverrideNode {
  return { kind: 'number', least, most }
}

/** @param names separated by blanks, all with the same verdict */
export function each(names: string, node: OverrideNode = VALUE): Readonly<Record<string, OverrideNode>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, node]))
}

export function listOf(item: OverrideNode): OverrideNode {
  return { kind: 'list', item }
}

/** @param fields those beside the key */
export function itemsBy(
  key: string,
  among: 'rendered' | 'any',
  fields: Readonly<Record<string, OverrideNode>>,
): OverrideNode {
  return { kind: 'items', key, among, item: fieldsOf({ [key]: VALUE, ...fields }) }
}

/** Returns the verdict on the field of an object; undefined if there is none. */
export function verdictOnField(node: OverrideNode | undefined, name: string): OverrideNode | undefined {
  if (node?.kind === 'never') return node
  if (node?.kind === 'list' || node?.kind === 'items') return verdictOnField(node.item, name)
  return node?.kind === 'fields' && Object.hasOwn(node.fields, name) ? node.fields[name] : undefined
}

/**
 * Returns the verdict on a path such as `template.spec.domain.devices.disks.cache`; undefined if there is none, or if nothing is overridden there alone: what
 * is in a list that is overridden as a whole, and the field that items are known by.
 */
export function verdictOn(root: OverrideNode, path: string): OverrideNode | undefined {
  return path.split('.').reduce<OverrideNode | undefined>((node, name) => {
    const isPart = node?.kind === 'list' || (node?.kind === 'items' && node.key === name)
    return isPart ? undefined : verdictOnField(node, name)
  }, root)
}
