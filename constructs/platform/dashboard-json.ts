import { runbookAnchor } from './alerts.ts'
import { DASHBOARD_ROWS, type DashboardPanel, type DashboardRow } from './dashboard-rows.ts'

/** The dashboard in the URL of Grafana. Links stay as they are when its title changes. */
const UID = 'open-terrain'
/** The version of Grafana's format. Grafana reads earlier ones, and this is the last one before that of Grafana 12. */
const SCHEMA_VERSION = 39
const COLUMNS = 24
const HEIGHT = { row: 1, stat: 4, graph: 8 } as const
const SOURCE = { type: 'prometheus', uid: '$datasource' } as const

interface Place {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

/**
 * Returns the dashboard in the format of Grafana, as data: what a file for its import has, and what the ConfigMap has.
 * @param runbookUrl URL of the page of the alerts. Undefined: panels have no links
 */
export function dashboardJson(runbookUrl?: string): Readonly<Record<string, unknown>> {
  return {
    uid: UID,
    title: 'Open Terrain',
    description: 'Images, machines and labs of Open Terrain. Each row answers a question.',
    tags: ['open-terrain', 'kubevirt'],
    editable: true,
    graphTooltip: 1,
    refresh: '1m',
    schemaVersion: SCHEMA_VERSION,
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    annotations: { list: [] },
    templating: { list: variables() },
    panels: laidOut(DASHBOARD_ROWS, runbookUrl),
  }
}

function variables(): object[] {
  const query = (name: string, label: string, definition: string, more: object = {}) => ({
    type: 'query',
    name,
    label,
    datasource: SOURCE,
    definition,
    query: { query: definition, refId: name },
    refresh: 2,
    sort: 1,
    ...more,
  })
  return [
    { type: 'datasource', name: 'datasource', label: 'Prometheus', query: 'prometheus', refresh: 1 },
    // Every replica has this metric, whether or not one leads.
    query('namespace', 'Namespace of the operator', 'label_values(ot_config_valid, namespace)'),
    query('class', 'Class', 'label_values(ot_class_workspaces{namespace="$namespace"}, class)', {
      multi: true,
      includeAll: true,
      allValue: '.*',
      current: { selected: true, text: 'All', value: '$__all' },
    }),
  ]
}

/** Panels from left to right, rows from top to bottom. */
function laidOut(rows: readonly DashboardRow[], runbookUrl: string | undefined): object[] {
  const panels: object[] = []
  let y = 0
  for (const { question, panels: those } of rows) {
    panels.push({
      type: 'row',
      id: panels.length + 1,
      title: question,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: HEIGHT.row },
      panels: [],
    })
    y += HEIGHT.row
    let [x, height] = [0, 0]
    for (const panel of those) {
      const { w, h } = sizeOf(panel)
      if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0]
      panels.push(panelJson(panel, panels.length + 1, { x, y, w, h }, runbookUrl))
      ;[x, height] = [x + w, Math.max(height, h)]
    }
    y += height
  }
  return panels
}

function sizeOf({ as, width }: DashboardPanel): Pick<Place, 'w' | 'h'> {
  return as === 'stat' ? { w: width ?? 4, h: HEIGHT.stat } : { w: width ?? 8, h: HEIGHT.graph }
}

function panelJson(panel: DashboardPanel, id: number, gridPos: Place, runbookUrl: string | undefined): object {
  const { title, description, as, alert } = panel
  return {
    type: as,
    id,
    title,
    description,
    gridPos,
    datasource: SOURCE,
    ...(alert !== undefined &&
      runbookUrl !== undefined && { links: [runbookLink(`${runbookUrl}#${runbookAnchor(alert)}`)] }),
    targets: targetsOf(panel),
    fieldConfig: { defaults: fieldOf(panel), overrides: [] },
    options: OPTIONS[as],
    ...(as === 'table' && { transformations: TABLE }),
  }
}

function runbookLink(url: string): object {
  return {
    title: 'Runbook',
    type: 'link',
    icon: 'doc',
    tooltip: 'What it means, where to look, and what to do',
    url,
    tags: [],
    asDropdown: false,
    targetBlank: true,
    includeVars: false,
    keepTime: false,
  }
}

function targetsOf({ as, queries }: DashboardPanel): object[] {
  const when = as === 'timeseries' ? { range: true } : { instant: true }
  return queries.map(({ expr, legend }, at) => ({
    refId: String.fromCodePoint(65 + at),
    datasource: SOURCE,
    expr,
    legendFormat: legend,
    ...when,
    ...(as === 'table' && { format: 'table' }),
  }))
}

function fieldOf(panel: DashboardPanel): object {
  const { as, unit, thresholds, isStacked = false } = panel
  return {
    unit,
    ...(as !== 'stat' && { min: 0 }),
    color: { mode: as === 'stat' ? 'thresholds' : 'palette-classic' },
    thresholds: { mode: 'absolute', steps: stepsOf(thresholds) },
    ...(as === 'timeseries' && {
      custom: {
        drawStyle: 'line',
        lineWidth: 1,
        fillOpacity: isStacked ? 40 : 10,
        showPoints: 'never',
        spanNulls: false,
        stacking: { mode: isStacked ? 'normal' : 'none', group: 'A' },
        thresholdsStyle: { mode: thresholds === undefined ? 'off' : 'dashed' },
      },
    }),
  }
}

function stepsOf(thresholds: DashboardPanel['thresholds']): object[] {
  if (thresholds === undefined) return [{ color: 'blue', value: null }]
  if ('bad' in thresholds)
    return [{ color: 'green', value: null }, ...step('orange', thresholds.warning), ...step('red', thresholds.bad)]
  return [{ color: 'red', value: null }, ...step('orange', thresholds.fair), ...step('green', thresholds.good)]
}

function step(color: string, value: number | undefined): object[] {
  return value === undefined ? [] : [{ color, value }]
}

const OPTIONS = {
  stat: {
    graphMode: 'area',
    colorMode: 'background',
    justifyMode: 'auto',
    textMode: 'auto',
    wideLayout: true,
    showPercentChange: false,
    percentChangeColorMode: 'standard',
    orientation: 'auto',
    reduceOptions: { calcs: ['lastNotNull'], values: false, fields: '' },
  },
  timeseries: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  table: { frameIndex: 0, showHeader: true, cellHeight: 'sm', sortBy: [{ displayName: 'For', desc: true }] },
} as const

const TABLE = [{ id: 'organize', options: { excludeByName: { Time: true }, renameByName: { Value: 'For' } } }] as const
