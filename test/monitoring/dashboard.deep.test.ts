import { dashboardJson } from '@open-terrain/constructs/infra'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { MonitoredWorld } from './monitored-world.ts'
import { panelsOf } from './panels.ts'
import { PastPrometheus } from './past-prometheus.ts'
import { renderedRules } from './rendered.ts'

const found = inject('prometheus')
const STEP_MS = 60_000

/** Where nothing has happened, a number is shown, which may be 0. */
describe.skipIf(found === undefined)('the dashboard, over some hours of a class', () => {
  let prometheus: PastPrometheus
  beforeAll(async () => {
    if (found === undefined || typeof found === 'string') throw new Error(found)
    prometheus = await PastPrometheus.start(found, await MonitoredWorld.run(), renderedRules())
    return async () => await prometheus[Symbol.asyncDispose]()
  })

  it.each(panelsOf(dashboardJson()).flatMap(({ title, queries }) => queries.map((query) => ({ title, ...query }))))(
    'shows values for "$title": $legend',
    async ({ expr, legend }) => {
      const series = (await prometheus.range(expr, STEP_MS)).filter(({ points }) => points.length > 0)
      expect(series, expr).not.toEqual([])
      const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      // A label that is not there leaves series without a name.
      for (const { labels } of series) expect(Object.keys(labels)).toEqual(expect.arrayContaining(named))
    },
  )

  it.each(['Slots', 'Queue', 'Failed attempts in an hour, by reason', 'Labs of the class', 'Alerts over time'])(
    'shows that something happened for "%s"',
    async (title) => {
      const { queries = [] } = panelsOf(dashboardJson()).find((panel) => panel.title === title) ?? {}
      for (const { expr } of queries) {
        const values = (await prometheus.range(expr, STEP_MS)).flatMap(({ points }) => points.map(([, value]) => value))
        expect(Math.max(...values), expr).toBeGreaterThan(0)
      }
    },
  )
})
