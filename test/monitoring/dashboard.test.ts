import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardJson } from '@open-terrain/constructs/infra'
import { RECORDING_RULES, renderMonitoring } from '@open-terrain/constructs/platform'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { ScriptedClient } from '../prepared/kube/scripted-client.ts'
import { scriptedOperator } from '../prepared/operator/scripted-operator.ts'
import { panelsOf } from './panels.ts'

const ROOT = join(import.meta.dirname, '../..')
const RUNBOOK = 'https://docs.example/operations'
const PANELS = panelsOf(dashboardJson(RUNBOOK))
const QUERIES = PANELS.flatMap(({ queries }) => queries)
/** With some room below what a ConfigMap takes, twice: `kubectl apply` keeps a copy in an annotation of 256 KiB. */
const MOST_BYTES = 200_000
/** Labels of a target, of series by Prometheus itself, and of buckets. */
const GIVEN = ['namespace', 'pod', 'alertname', 'alertstate', 'severity', 'le']

/** Metrics with their labels: those that the operator registers, and those that are recorded. */
async function knownMetrics(): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metrics } = scriptedOperator(new ScriptedClient())
  metrics.observeProcess()
  const registered = metrics.registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[]
  const text = await metrics.render()
  const histograms = new Set([...text.matchAll(/^# TYPE (\w+) histogram/gm)].map(([, name]) => name))
  const own = registered.map(({ name, labelNames }): [string, string[]] => [
    histograms.has(name) ? `${name}_bucket` : name,
    labelNames,
  ])
  const recorded = Object.values(RECORDING_RULES).map(({ record }): [string, string[]] => [
    record,
    (record.split(':')[0] ?? '').split('_'),
  ])
  return new Map([...own, ...recorded, ['ALERTS', []]])
}

/** Reports what is not of Grafana's published types, in the words of the compiler. */
function problemsOf(dashboard: unknown): string[] {
  const path = join(import.meta.dirname, 'a-dashboard.ts')
  const source = `import type { GrafanaDashboard } from './grafana-types.ts'\nexport const dashboard: GrafanaDashboard = ${JSON.stringify(dashboard)}\n`
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (name, ...rest) =>
    name === path ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022, true) : read(name, ...rest)
  const exists = host.fileExists.bind(host)
  host.fileExists = (name) => name === path || exists(name)
  const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([path], options, host))
  return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

describe('the dashboard', () => {
  it('is what the published types of Grafana say, with no field beside them', () => {
    expect(problemsOf(dashboardJson(RUNBOOK))).toEqual([])
  })

  it('is held against types that refuse what is wrong', () => {
    const [row, first] = dashboardJson()['panels'] as Readonly<Record<string, unknown>>[]
    const changed = (panel: object) => problemsOf({ ...dashboardJson(), panels: [row, { ...first, ...panel }] })
    expect(changed({})).toEqual([])
    expect(changed({ legend: 'none' }).join()).toContain('legend')
    expect(changed({ options: { graphMode: 'circle' } }).join()).toContain('circle')
    expect(changed({ targets: [{ refId: 'A', query: 'up' }] }).join()).toContain('query')
  })

  it('asks for metrics and labels that there are', async () => {
    const known = await knownMetrics()
    for (const { expr, legend } of QUERIES) {
      const selected = [...expr.matchAll(/([a-zA-Z_:][\w:]*)\{([^}]*)\}/g)]
      expect(selected.length, expr).toBeGreaterThan(0)
      const labels = selected.flatMap(([, metric = '', matchers = '']) => {
        expect([...known.keys()], expr).toContain(metric)
        const allowed = [...GIVEN, ...(known.get(metric) ?? [])]
        const asked = [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label)
        expect(allowed, expr).toEqual(expect.arrayContaining(asked))
        return allowed
      })
      const grouped = [...expr.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(', '))
      const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      expect(labels, expr).toEqual(expect.arrayContaining([...grouped, ...named]))
      // A figure of another operator in the same Prometheus would be added.
      for (const [, , matchers] of selected) expect(matchers, expr).toContain('namespace="sync-operator"')
    }
  })

  it('says of each panel what it means, and has each once', () => {
    expect(new Set(PANELS.map(({ title }) => title)).size).toBe(PANELS.length)
    for (const { title, description, queries } of PANELS) {
      expect(description.length, title).toBeGreaterThan(20)
      expect(description, title).toMatch(/[.]$/)
      expect(queries.length, title).toBeGreaterThan(0)
    }
  })

  it('links to sections of the runbook', () => {
    const docs = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').toLowerCase()
    const links = PANELS.flatMap((panel) => panel.links)
    expect(links.length).toBeGreaterThan(10)
    for (const link of links) expect(docs).toContain(`\n### ${link.slice(RUNBOOK.length + 1)}\n`)
    expect(panelsOf(dashboardJson()).flatMap((panel) => panel.links)).toEqual([])
  })

  it('has no panel over another one', () => {
    const panels = dashboardJson()['panels'] as readonly {
      id: number
      gridPos: { x: number; y: number; w: number; h: number }
    }[]
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24)
      return Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`)
    })
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })

  it('is in a ConfigMap that is small enough, whose label the sidecar of Grafana looks for', () => {
    const configMap = renderMonitoring({ runbookUrl: RUNBOOK }).find(({ kind }) => kind === 'ConfigMap')
    expect(configMap?.metadata).toMatchObject({ namespace: 'sync-operator', labels: { grafana_dashboard: '1' } })
    const { data } = configMap as unknown as { data: Record<string, string> }
    expect(Object.keys(data)).toEqual(['open-terrain.json'])
    expect(JSON.parse(data['open-terrain.json'] ?? '')).toEqual(dashboardJson(RUNBOOK))
    expect(Buffer.byteLength(JSON.stringify(configMap))).toBeLessThan(MOST_BYTES)
  })
})
