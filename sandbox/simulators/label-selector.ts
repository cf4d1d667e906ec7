/** One requirement on labels. */
export interface LabelExpression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** All requirements must hold. Empty: matches every object. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly LabelExpression[]
}

type Labels = Readonly<Record<string, string>>

export function isSelected(selector: LabelSelector, labels: Labels = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value) && holdAll(matchExpressions, labels)
}

export function holdAll(expressions: readonly LabelExpression[], labels: Labels = {}): boolean {
  return expressions.every(({ key, operator, values = [] }) => {
    const value = labels[key]
    switch (operator) {
      case 'In':
        return value !== undefined && values.includes(value)
      case 'NotIn':
        return value === undefined || !values.includes(value)
      case 'Exists':
        return value !== undefined
      case 'DoesNotExist':
        return value === undefined
      default:
        throw new Error(`nobody here knows the operator ${operator} of a label selector`)
    }
  })
}
