import { type MonitoringProps, renderMonitoring } from '@open-terrain/constructs/platform'

/** An alert, or a series that is recorded. */
export interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: { readonly severity: string }
  readonly annotations?: { readonly summary: string; readonly description: string }
}

/** The content of a Prometheus rule file. */
export interface RuleGroups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
}

/** The spec of the PrometheusRule. */
export function renderedRules(props: MonitoringProps = {}): RuleGroups {
  const rule = renderMonitoring(props).find(({ kind }) => kind === 'PrometheusRule')
  return rule?.['spec'] as RuleGroups
}

/** The rules of these alerts alone, and what is recorded for them. */
export function rulesOf({ groups }: RuleGroups, alerts: readonly string[]): RuleGroups {
  const kept = groups.map(({ name, rules }) => ({
    name,
    rules: rules.filter(({ alert }) => alert === undefined || alerts.includes(alert)),
  }))
  return { groups: kept.filter(({ rules }) => rules.length > 0) }
}
