import { k8s } from 'cdk8s-plus-29'
import type { Construct } from 'constructs'
import { OPERATOR_NAMESPACE } from '../api/policy.ts'
import { dashboardJson } from './dashboard-json.ts'
import { OPERATOR_LABELS } from './operator-names.ts'

/** Where the dashboard is, and how Grafana finds it. */
export interface DashboardProps {
  /** Namespace of the ConfigMap, which must exist: one in which the sidecar of Grafana looks. @default that of the operator @example 'monitoring' */
  readonly namespace?: string
  /** Labels by which the sidecar of Grafana finds it. They replace the default. @default `grafana_dashboard: "1"` */
  readonly labels?: Readonly<Record<string, string>>
  /** Annotations, such as the folder for the sidecar: `grafana_folder: Open Terrain`. @default none: the folder General */
  readonly annotations?: Readonly<Record<string, string>>
  /** URL of the runbook, such as https://docs.example.com/runbook; panels link to its sections. @default none: panels have no links */
  readonly runbookUrl?: string
}

/**
 * A dashboard in a ConfigMap, as the sidecar of Grafana's Helm chart loads it. It uses the series that `Monitoring` records. Without a Grafana nothing
 * reads it.
 */
export class Dashboard extends k8s.KubeConfigMap {
  constructor(scope: Construct, id: string, props: DashboardProps = {}) {
    const { namespace = OPERATOR_NAMESPACE, labels = { grafana_dashboard: '1' }, annotations = {}, runbookUrl } = props
    super(scope, id, {
      metadata: {
        name: 'open-terrain-dashboard',
        namespace,
        labels: { ...OPERATOR_LABELS, ...labels },
        ...(Object.keys(annotations).length > 0 && { annotations }),
      },
      // In lines: what changes is seen in a difference.
      data: { 'open-terrain.json': `${JSON.stringify(dashboardJson(runbookUrl), null, 1)}\n` },
    })
  }
}
