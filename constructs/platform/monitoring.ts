import { ApiObject } from 'cdk8s'
import { Construct } from 'constructs'
import { OPERATOR_NAMESPACE } from '../api/policy.ts'
import { ALERTS, type Alert, type AlertName, type AlertOverride, fullName, runbookAnchor } from './alerts.ts'
import { Dashboard, type DashboardProps } from './dashboard.ts'
import { OPERATOR_LABELS, OPERATOR_NAME, OPERATOR_SELECTOR } from './operator-names.ts'
import { RECORDING_RULES } from './recording-rules.ts'

const API_VERSION = 'monitoring.coreos.com/v1'
const DURATION = /^(0s|([1-9]\d*(ms|s|m|h|d|w))+)$/

/** Reports whether the text is a duration as Prometheus writes it, such as `30s` or `1h30m`. */
export function isPrometheusDuration(text: string): boolean {
  return DURATION.test(text)
}

/** How Prometheus finds the operator, and which alerts there are. */
export interface MonitoringProps {
  /** Namespace of the operator. @default `sync-operator` */
  readonly namespace?: string
  /** Additional labels by which the cluster's Prometheus selects monitors and rules, such as `release: kube-prometheus-stack`. @default none */
  readonly labels?: Readonly<Record<string, string>>
  /** How often Prometheus reads the metrics, as a Prometheus duration. @default `30s` */
  readonly interval?: string
  /** URL of the runbook, such as https://docs.example.com/runbook; each alert adds the anchor of its section. @default none: alerts have no link */
  readonly runbookUrl?: string
  /** Overrides by name of the alert without the prefix. `false` leaves an alert out. @default none: all alerts as they are */
  readonly alerts?: { readonly [Name in AlertName]?: AlertOverride | false }
  /** The dashboard for Grafana, or `false` for none. @default the defaults of `Dashboard`: without a Grafana, nothing reads it */
  readonly dashboard?: Omit<DashboardProps, 'runbookUrl'> | false
}

/**
 * A PodMonitor and a PrometheusRule, for clusters with the Prometheus operator, whose CRDs must exist, and a dashboard for Grafana. Throws at synth,
 * naming the property, on an invalid duration or an alert that does not exist.
 */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string, props: MonitoringProps = {}) {
    super(scope, id)
    const { namespace = OPERATOR_NAMESPACE, labels = {}, interval = '30s', dashboard = {}, runbookUrl } = props
    this.checkDuration('interval', interval)
    const metadata = {
      name: OPERATOR_NAME,
      namespace,
      labels: { ...OPERATOR_LABELS, ...labels },
    }
    new ApiObject(this, 'PodMonitor', {
      apiVersion: API_VERSION,
      kind: 'PodMonitor',
      metadata,
      spec: { selector: { matchLabels: OPERATOR_SELECTOR }, podMetricsEndpoints: [{ port: 'metrics', interval }] },
    })
    new ApiObject(this, 'PrometheusRule', {
      apiVersion: API_VERSION,
      kind: 'PrometheusRule',
      metadata,
      // In one group, recordings first: an alert sees what was recorded at the same time.
      spec: { groups: [{ name: 'open-terrain', rules: [...recordings(), ...this.rules(props)] }] },
    })
    if (dashboard !== false)
      new Dashboard(this, 'Dashboard', { namespace, ...dashboard, ...(runbookUrl !== undefined && { runbookUrl }) })
  }

  private rules({ alerts = {}, runbookUrl }: MonitoringProps): object[] {
    for (const [name, override] of Object.entries(alerts)) {
      if (Object.hasOwn(ALERTS, name) && (override === false || typeof override === 'object')) continue
      if (Object.hasOwn(ALERTS, name))
        throw new Error(
          `${this.node.path}: alerts.${name} ${JSON.stringify(override)} must be false, or have severity, above or for`,
        )
      throw new Error(
        `${this.node.path}: alerts.${name} does not exist, write one of ${Object.keys(ALERTS).join(', ')}`,
      )
    }
    return (Object.keys(ALERTS) as AlertName[]).flatMap((name) => {
      const override = alerts[name] ?? {}
      return override === false ? [] : [this.rule(name, override, runbookUrl)]
    })
  }

  private rule(name: AlertName, override: AlertOverride, runbookUrl: string | undefined): object {
    const alert: Alert = { ...ALERTS[name], ...override }
    this.checkDuration(`alerts.${name}.for`, alert.for)
    if (override.above !== undefined && !('above' in ALERTS[name]))
      throw new Error(`${this.node.path}: alerts.${name}.above means nothing, this alert has no threshold: remove it`)
    return {
      alert: fullName(name),
      expr: alert.above === undefined ? alert.expr : `${alert.expr} > ${alert.above}`,
      for: alert.for,
      labels: { severity: alert.severity },
      annotations: {
        summary: alert.summary,
        description: alert.description,
        // A link that leads nowhere would be worse than none.
        ...(runbookUrl === undefined ? {} : { runbook_url: `${runbookUrl}#${runbookAnchor(name)}` }),
      },
    }
  }

  private checkDuration(property: string, text: string): void {
    if (isPrometheusDuration(text)) return
    throw new Error(
      `${this.node.path}: ${property} "${text}" is not a duration of Prometheus: write for example 30s or 1h30m`,
    )
  }
}

function recordings(): object[] {
  return Object.values(RECORDING_RULES).map(({ record, expr }) => ({ record, expr }))
}
