import { describe, expect, it } from 'vitest'
import { ALERTS } from './alerts.ts'
import { type InstallationProps, type Manifest, renderInstallation, renderMonitoring } from './installation.ts'
import type { MonitoringProps } from './monitoring.ts'

interface Rule {
  readonly alert?: string
  readonly expr: string
  readonly labels: object
  readonly annotations: { readonly runbook_url?: string }
}

const kinds = (manifests: readonly Manifest[]) => manifests.map(({ kind }) => kind)
const rules = (props: MonitoringProps = {}) => {
  const [, rule] = renderMonitoring(props) as readonly { readonly spec?: { groups: { rules: Rule[] }[] } }[]
  return rule?.spec?.groups.flatMap((group) => group.rules).filter(({ alert }) => alert !== undefined) ?? []
}
const ruleOf = (name: string, props: MonitoringProps) =>
  rules(props).find(({ alert }) => alert === `OpenTerrain${name}`)

describe('Monitoring', () => {
  it('is part of an installation only where somebody asks for it, in the namespace of the operator', () => {
    const props: InstallationProps = { image: 'registry.example/operator@sha256:0', namespace: 'ops' }
    expect(renderInstallation(props).monitoring).toEqual([])
    const { monitoring } = renderInstallation({ ...props, monitoring: { labels: { release: 'stack' } } })
    expect(kinds(monitoring)).toEqual(['PodMonitor', 'PrometheusRule', 'ConfigMap'])
    for (const { kind, metadata } of monitoring)
      expect(metadata).toMatchObject({ namespace: 'ops', labels: kind === 'ConfigMap' ? {} : { release: 'stack' } })
  })

  it('scrapes a port that the pods of the operator have, at the pods of the operator', () => {
    const { operator } = renderInstallation({ image: 'registry.example/operator@sha256:0' })
    const [monitor] = renderMonitoring({ interval: '1m' })
    expect(monitor).toMatchObject({ spec: { podMetricsEndpoints: [{ port: 'metrics', interval: '1m' }] } })
    const { selector } = (monitor as unknown as { spec: { selector: { matchLabels: object } } }).spec
    expect(operator.find(({ kind }) => kind === 'Deployment')).toMatchObject({
      spec: {
        template: {
          metadata: { labels: selector.matchLabels },
          spec: { containers: [{ ports: expect.arrayContaining([expect.objectContaining({ name: 'metrics' })]) }] },
        },
      },
    })
  })

  it('has a dashboard where the sidecar of Grafana looks, or none', () => {
    const labels = { dashboards: 'load' }
    const annotations = { grafana_folder: 'Open Terrain' }
    const dashboardOf = (props: MonitoringProps) => renderMonitoring(props).filter(({ kind }) => kind === 'ConfigMap')
    const [wanted] = dashboardOf({ dashboard: { namespace: 'grafana', labels, annotations } })
    expect(wanted?.metadata).toMatchObject({ namespace: 'grafana', labels, annotations })
    expect(wanted?.metadata).not.toHaveProperty('labels.grafana_dashboard')
    expect(dashboardOf({ dashboard: false })).toEqual([])
  })

  it('has every alert, with what its installation wants otherwise', () => {
    expect(rules().map(({ alert }) => alert)).toEqual(Object.keys(ALERTS).map((name) => `OpenTerrain${name}`))
    const props: MonitoringProps = {
      runbookUrl: 'https://docs.example/operations',
      alerts: { MachineWaiting: { above: 60, for: '1h30m', severity: 'info' }, LookAlikes: false },
    }
    expect(rules().filter(({ annotations }) => 'runbook_url' in annotations)).toEqual([])
    expect(rules(props)).toHaveLength(rules().length - 1)
    expect(ruleOf('LookAlikes', props)).toBeUndefined()
    expect(ruleOf('MachineWaiting', props)).toMatchObject({
      expr: 'namespace:ot_vm_longest_wait_seconds:max > 60',
      for: '1h30m',
      labels: { severity: 'info' },
      annotations: { runbook_url: 'https://docs.example/operations#openterrainmachinewaiting' },
    })
  })

  it.each<[object, string]>([
    [{ interval: '30' }, 'interval "30" is not a duration of Prometheus: write for example 30s or 1h30m'],
    [{ alerts: { NoLeader: { for: 'soon' } } }, 'alerts.NoLeader.for "soon" is not a duration of Prometheus'],
    [
      { alerts: { NoLeader: { above: 1 } } },
      'alerts.NoLeader.above means nothing, this alert has no threshold: remove it',
    ],
    [{ alerts: { NoLeader: 'off' } }, 'alerts.NoLeader "off" must be false, or have severity, above or for'],
    [{ alerts: { Leaderless: false } }, 'alerts.Leaderless does not exist, write one of QueueStuck, SlotIdle, '],
  ])('throws, naming the property, on %j', (props, message) => {
    expect(() => renderMonitoring(props)).toThrow(message)
  })
})
