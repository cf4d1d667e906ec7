export interface MatchedResources {
  readonly apiGroups: readonly string[]
  readonly apiVersions: readonly string[]
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[]
  /** In the plural, without subresources unless they are named. */
  readonly resources: readonly string[]
  /** @default all */
  readonly resourceNames?: readonly string[]
}

/**
 * Returns `spec.matchConstraints` of an admission policy, with its defaults: it is owned as a whole, so that tools that apply it in different ways would
 * otherwise take it from each other, or write it again and again.
 */
export function matchConstraints(
  resources: MatchedResources | readonly MatchedResources[],
  namespaceSelector: object = {},
): object {
  return {
    matchPolicy: 'Equivalent',
    namespaceSelector,
    objectSelector: {},
    resourceRules: [resources].flat().map((rule) => ({ ...rule, scope: '*' })),
  }
}
