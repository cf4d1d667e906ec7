import { RECORDING_RULES } from '@open-terrain/constructs/platform'
import { METRIC_LABELS, type RegisteredMetric, registeredMetrics } from '../operator/registered-metrics.ts'

/** What the text of a metric does not say: what it is good for, and what not. */
const NOTES: Readonly<Record<string, string>> = {
  ot_sync_without_slot: 'More than 0 for some minutes is a bug.',
  ot_unknown_import_errors_total: '`status.attempts` of the images has the text. If no retry can fix it, report it.',
  ot_vmdi_removed_total: 'Many in an hour may be a TTL that is too short: `increase(ot_vmdi_removed_total[1h]) > 50`.',
  ot_vm_provision_seconds:
    'Slow ones: `histogram_quantile(0.9, sum by (le) (rate(ot_vm_provision_seconds_bucket[1h]))) > 600`.',
  ot_class_workspaces: 'See [Classes](../../docs/operations.md#classes).',
  ot_class_members_outdated: 'None where no Workspace says how many.',
  ot_plays_total: 'One that is played again counts again, and one that is `NotPlayed` never.',
  ot_state_objects:
    '`Deleting` comes before any phase. `Retrying` are images whose attempts fail, with the reason of the last one. Warnings count beside the phase, and so does `Refused` where the API server refuses what the operator writes for the object.',
  ot_state_longest_seconds: 'As far as the leader saw it.',
  ot_informer_silent_seconds: 'Below 60 as a rule.',
  ot_informer_relists_total: 'More than a few an hour means that watches break.',
  ot_informer_partial_objects: 'They are large: they are read when they are needed, or are `TooLarge`.',
  ot_config_valid: 'Of each replica: use the `min`.',
  leader_election_master_status: 'Of each replica: the sum is 1 while one leads.',
}

/** Units by the end of the name, as Prometheus recommends. */
const UNITS = { _seconds: 'seconds', _bytes: 'bytes' } as const
/** Metrics that are a switch, and count nothing. */
const SWITCHES: readonly string[] = ['ot_config_valid', 'leader_election_master_status', 'ot_neighbour_away']

/** Returns the reference of metrics in Markdown: all that the operator registers, their labels, and what Prometheus records of them. */
export function metricsReference(): string {
  const metrics = registeredMetrics()
  const isOwn = ({ name }: RegisteredMetric) => name.startsWith('ot_')
  const sections = [
    '# Metrics',
    'What the operator registers: each metric with its type, unit and labels. `docs/operations.md` says how to read them. Gauges are computed at each scrape, and ' +
      'a replica that does not lead reports 0 or nothing: use the sum over the replicas, and the `max` of those whose names begin with `ot_informer`. Counters ' +
      'start at 0 with each process.',
    '## Of Open Terrain',
    metricTable(metrics.filter(isOwn)),
    '## Of the runtime',
    'With the names of controller-runtime and client-go, for dashboards that are made for those. Beside them are those of Node and of its process (`process_*`, ' +
      '`nodejs_*`), as prom-client has them.',
    metricTable(metrics.filter((metric) => !isOwn(metric))),
    '## Labels',
    'No label has the name of an object, and no value is a text of a status: each value is a series that Prometheus keeps.',
    table(
      ['Label', 'Values', 'At most'],
      Object.entries(METRIC_LABELS).map(([label, { values, most }]) => [code(label), values, `${most}`]),
    ),
    '## Recorded by Prometheus',
    'Rules of the PrometheusRule that alerts and the dashboard share.',
    table(
      ['Series', 'Meaning', 'Query'],
      Object.values(RECORDING_RULES).map(({ record, meaning, expr }) => [code(record), meaning, code(expr)]),
    ),
  ]
  return `${sections.join('\n\n')}\n`
}

function metricTable(metrics: readonly RegisteredMetric[]): string {
  return table(
    ['Metric', 'Type', 'Unit', 'Labels', 'Meaning'],
    metrics.map((metric) => {
      const { name, type, help, labels } = metric
      const meaning = [`${help}.`, NOTES[name]].filter((text) => text !== undefined).join(' ')
      return [code(name), type, unitOf(metric), labels.map(code).join(', '), meaning]
    }),
  )
}

function unitOf({ name }: RegisteredMetric): string {
  if (SWITCHES.includes(name)) return '0 or 1'
  return Object.entries(UNITS).find(([end]) => name.endsWith(end))?.[1] ?? 'number'
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}
