/**
 * Draws `docs/dashboard.svg`: graphs of the dashboard for Grafana, from what a real Prometheus answers to its queries after a simulated run. Not a part of
 * `npm run gen`: figures of the process differ from run to run.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardJson } from '@open-terrain/constructs/infra'
import { type DrawnPanel, dashboardPicture } from './dashboard-picture.ts'
import { MonitoredWorld } from './monitored-world.ts'
import { type Panel, panelsOf } from './panels.ts'
import { PastPrometheus } from './past-prometheus.ts'
import { resolvePrometheus } from './prometheus.ts'
import type { QueriedSeries } from './prometheus-server.ts'
import { renderedRules } from './rendered.ts'

const STEP_MS = 120_000
/** What the picture shows: the others are like these. */
const SHOWN = [
  'Alerts over time',
  'Slots',
  'Queue',
  'Wait for a slot',
  'Failed attempts in an hour, by reason',
  'Images by phase',
  'Size of images',
  'Images by use',
  'Machines by phase',
  'What machines wait for',
  'Outdated machines',
  'Labs by phase',
  'Labs that end soon',
  'Machines of the class that are ready',
  'Requests to the API server',
  'Silence of watches',
  'Objects in the caches',
]

const found = await resolvePrometheus(console.error)
if (found === undefined) throw new Error('the picture needs Prometheus: unset PROMETHEUS')
await using prometheus = await PastPrometheus.start(found, await MonitoredWorld.run(), renderedRules())
const drawn: DrawnPanel[] = []
for (const panel of panelsOf(dashboardJson()).filter(({ title }) => SHOWN.includes(title)))
  drawn.push({ ...panel, series: await seriesOf(panel) })
const path = join(import.meta.dirname, '../../docs/dashboard.svg')
writeFileSync(path, dashboardPicture(drawn, prometheus.history.begunMs, prometheus.history.endedMs))
console.log(`wrote ${path}`)

async function seriesOf({ queries }: Panel): Promise<DrawnPanel['series']> {
  const series = new Map<string, QueriedSeries['points']>()
  for (const { expr, legend } of queries)
    for (const { labels, points } of await prometheus.range(expr, STEP_MS))
      if (points.some(([, value]) => value !== 0)) series.set(nameOf(legend, labels), points)
  return series
}

function nameOf(legend: string, labels: Readonly<Record<string, string>>): string {
  return legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? '').replace(/^OpenTerrain/, '')
}
